//! Waiting until a file is written or a program ends, without asking again and again.

use std::{
    io,
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    fs::inotify,
    io::Errno,
    process::{PidfdFlags, getppid, pidfd_open},
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

    /// Calls `back` whenever something was written, until the answer is dropped.
    pub fn call(self, back: impl Fn() + Send + 'static) -> io::Result<Alarm> {
        let seen = self.inotify.try_clone()?;
        Alarm::over(seen, move || {
            back();
            self.forget().is_ok()
        })
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

/// A thread that calls back when something has happened, until it is dropped.
#[derive(Debug)]
pub struct Alarm {
    /// Written to when the thread is to end.
    stop: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl Alarm {
    /// Calls `back` once the process has ended that has started this one, which may be at once.
    pub fn at_parents_end(back: impl Fn() + Send + 'static) -> io::Result<Self> {
        let parent = getppid().ok_or_else(|| io::Error::from(Errno::SRCH))?;
        Self::at_end_of(pidfd_open(parent, PidfdFlags::empty())?, back)
    }

    /// Calls `back` once a process has ended, which may be at once.
    pub fn at_end_of(process: OwnedFd, back: impl Fn() + Send + 'static) -> io::Result<Self> {
        Self::over(process, move || {
            back();
            false
        })
    }

    /// Calls `back` whenever there is something to read, for as long as it says so.
    fn over(seen: OwnedFd, back: impl Fn() -> bool + Send + 'static) -> io::Result<Self> {
        let stop = eventfd(0, EventfdFlags::CLOEXEC)?;
        let told = stop.try_clone()?;
        let thread = thread::Builder::new().name("alarm".to_owned()).spawn(move || {
            loop {
                let mut both = [PollFd::new(&seen, PollFlags::IN), PollFd::new(&told, PollFlags::IN)];
                match poll(&mut both, None) {
                    Ok(_) => {}
                    Err(Errno::INTR) => continue,
                    Err(_) => return,
                }
                let is_over = !both[1].revents().is_empty();
                if is_over || !back() {
                    return;
                }
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if rustix::io::write(&self.stop, &1_u64.to_ne_bytes()).is_ok() {
            // It does not panic, and nobody is left who could be told.
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}
