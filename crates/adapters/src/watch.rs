//! Waiting until a file is written or a program ends, without asking again and again.

use std::{
    io,
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::inotify,
    io::Errno,
};

/// A watch over files and directories: it wakes when one is written to its end, or put in place.
#[derive(Debug)]
pub struct Watch {
    inotify: OwnedFd,
}

/// Why a wait is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// Something was written.
    pub written: bool,
    /// The program has ended.
    pub ended: bool,
}

impl Watch {
    /// Watches these files, and what is written in these directories.
    pub fn over(paths: &[&Path]) -> io::Result<Self> {
        let inotify = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        for path in paths {
            let flags = inotify::WatchFlags::CLOSE_WRITE | inotify::WatchFlags::MOVED_TO;
            inotify::add_watch(&inotify, *path, flags)?;
        }
        Ok(Self { inotify })
    }

    /// Waits until something was written, the program has ended, or the time is up.
    pub fn wait(&self, process: Option<&OwnedFd>, patience: Duration) -> io::Result<Woken> {
        let mut descriptors = vec![PollFd::new(&self.inotify, PollFlags::IN)];
        descriptors.extend(process.map(|process| PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)));
        let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
        match poll(&mut descriptors, Some(&patience)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ended = descriptors.get(1).is_some_and(|process| !process.revents().is_empty());
        Ok(Woken { written: self.forget()?, ended })
    }

    /// Forgets what was announced; tells whether there was anything.
    fn forget(&self) -> io::Result<bool> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut any = false;
        loop {
            match reader.next() {
                Ok(_) => any = true,
                Err(Errno::AGAIN) => return Ok(any),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
