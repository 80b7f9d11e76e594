//! Attending to a child: what it says is read, what it reads is written, and its end is seen, by one wait for all of it.
//!
//! No thread is started and nothing is looked at again and again: the kernel wakes the caller. A child that says more
//! than is read has to wait, and costs no memory.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    process::{Child, ExitStatus},
    sync::mpsc::{Receiver, TryRecvError},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{PidfdFlags, pidfd_open},
};

use super::pid_of;

/// How much is read at once.
const READ: usize = 16 * 1024;
/// How much is written at once: a pipe that has room has room for that.
const WRITTEN: usize = 4096;
/// How often a child is looked at where the kernel does not tell its end.
const LOOK: Duration = Duration::from_millis(10);

/// Result of one wait.
pub(super) enum WaitResult<'a> {
    /// It has said something.
    Out(&'a [u8]),
    Err(&'a [u8]),
    OutClosed,
    ErrClosed,
    Ended(io::Result<ExitStatus>),
    /// Nothing, until the time was up.
    Nothing,
}

/// A child process with its pipes and pending input.
pub(super) struct AttendedChild {
    child: Child,
    /// By which the kernel tells that it has ended; not every kernel does.
    end: Option<OwnedFd>,
    has_ended: bool,
    out: Option<File>,
    err: Option<File>,
    input: Option<Input>,
    buffer: Vec<u8>,
}

/// What a child is given to read.
struct Input {
    pipe: File,
    text: Vec<u8>,
    written: usize,
    /// By which more comes; none if this is all.
    more: Option<Receiver<Vec<u8>>>,
}

/// The descriptor that a wait is for.
#[derive(Clone, Copy)]
enum WaitFor {
    End,
    In,
    Out,
    Err,
}

impl AttendedChild {
    /// Attends to a child, which is to read `input` and then what comes by `more`, until nobody can send any.
    pub(super) fn new(mut child: Child, input: Vec<u8>, more: Option<Receiver<Vec<u8>>>) -> Self {
        let end = pid_of(child.id()).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let out = child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let err = child.stderr.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let input = child.stdin.take().map(|pipe| Input {
            pipe: File::from(OwnedFd::from(pipe)),
            text: input,
            written: 0,
            more,
        });
        let mut attended = Self { child, end, has_ended: false, out, err, input, buffer: vec![0; READ] };
        attended.close_when_read();
        attended
    }

    /// Takes what it is told next, as far as it is there.
    fn hear_more(&mut self) {
        let Some(input) = &mut self.input else { return };
        while let Some(more) = &input.more {
            match more.try_recv() {
                Ok(text) => {
                    input.text.drain(..input.written);
                    input.written = 0;
                    input.text.extend(text);
                }
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => input.more = None,
            }
        }
        self.close_when_read();
    }

    /// Closes the input once all of it is written.
    fn close_when_read(&mut self) {
        let is_read = |input: &Input| input.more.is_none() && input.written >= input.text.len();
        if self.input.as_ref().is_some_and(is_read) {
            self.input = None;
        }
    }

    /// Tells whether everything that it has said was read.
    pub(super) fn is_silent(&self) -> bool {
        self.out.is_none() && self.err.is_none()
    }

    /// Waits until something comes, or until the time is up. Of a program that never stops talking something always
    /// comes, so whoever calls this again and again looks at the clock.
    pub(super) fn wait(&mut self, until: Instant) -> WaitResult<'_> {
        loop {
            self.hear_more();
            match self.ready(until) {
                Ok(Some(WaitFor::End)) => match self.child.try_wait() {
                    Ok(None) => {}
                    Ok(Some(status)) => {
                        self.has_ended = true;
                        return WaitResult::Ended(Ok(status));
                    }
                    Err(error) => return WaitResult::Ended(Err(error)),
                },
                Ok(Some(WaitFor::In)) => self.write(),
                Ok(Some(WaitFor::Out)) => match read(&mut self.out, &mut self.buffer) {
                    Some(0) => return WaitResult::OutClosed,
                    Some(count) => return WaitResult::Out(&self.buffer[..count]),
                    None => {}
                },
                Ok(Some(WaitFor::Err)) => match read(&mut self.err, &mut self.buffer) {
                    Some(0) => return WaitResult::ErrClosed,
                    Some(count) => return WaitResult::Err(&self.buffer[..count]),
                    None => {}
                },
                Ok(None) => {
                    // Without word from the kernel, its end is looked for.
                    if self.end.is_none()
                        && !self.has_ended
                        && let Ok(Some(status)) = self.child.try_wait()
                    {
                        self.has_ended = true;
                        return WaitResult::Ended(Ok(status));
                    }
                    if Instant::now() >= until {
                        return WaitResult::Nothing;
                    }
                }
                Err(error) => return WaitResult::Ended(Err(error)),
            }
        }
    }

    /// Returns who is ready. The end comes first: what was said before it can still be read.
    fn ready(&self, until: Instant) -> io::Result<Option<WaitFor>> {
        let end = self.end.as_ref().filter(|_| !self.has_ended);
        let input = self.input.as_ref().filter(|input| input.written < input.text.len());
        let watched: [Option<(WaitFor, BorrowedFd<'_>, PollFlags)>; 4] = [
            end.map(|fd| (WaitFor::End, fd.as_fd(), PollFlags::IN)),
            self.out.as_ref().map(|file| (WaitFor::Out, file.as_fd(), PollFlags::IN)),
            self.err.as_ref().map(|file| (WaitFor::Err, file.as_fd(), PollFlags::IN)),
            input.map(|input| (WaitFor::In, input.pipe.as_fd(), PollFlags::OUT)),
        ];
        let watched: Vec<(WaitFor, BorrowedFd<'_>, PollFlags)> = watched.into_iter().flatten().collect();
        let mut fds: Vec<PollFd<'_>> =
            watched.iter().map(|(_, fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
        let mut left = until.saturating_duration_since(Instant::now());
        if self.end.is_none() {
            left = left.min(LOOK);
        }
        match poll(&mut fds, Some(&Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 }))) {
            Ok(_) => {
                let found = fds.iter().position(|fd| !fd.revents().is_empty());
                Ok(found.map(|index| watched[index].0))
            }
            Err(Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a part of the input. A program that does not read to the end has had enough.
    fn write(&mut self) {
        let Some(input) = &mut self.input else { return };
        let to = input.text.len().min(input.written + WRITTEN);
        match input.pipe.write(&input.text[input.written..to]) {
            Ok(count) => input.written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(_) => {
                self.input = None;
                return;
            }
        }
        self.close_when_read();
    }
}

/// Reads what is there; zero when the output is closed, which it is then. Nothing if the read was interrupted.
fn read(output: &mut Option<File>, buffer: &mut [u8]) -> Option<usize> {
    match output.as_mut()?.read(buffer) {
        Ok(count) if count > 0 => Some(count),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
        // An output that cannot be read any more has ended.
        Ok(_) | Err(_) => {
            *output = None;
            Some(0)
        }
    }
}
