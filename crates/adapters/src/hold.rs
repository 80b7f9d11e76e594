//! Waiting for a file that one process at a time may hold.

use std::{
    fs::{File, TryLockError},
    io, thread,
    time::{Duration, Instant},
};

/// How long it is waited at most before it is tried again.
const LONGEST_PAUSE: Duration = Duration::from_millis(25);

/// Locks a file; tells whether that was possible within `patience`. The kernel gives the lock back when the file is
/// closed, or the process dies.
pub fn wait(file: &File, patience: Duration) -> io::Result<bool> {
    let started = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if started.elapsed() > patience {
            return Ok(false);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// A locked file; dropping it unlocks.
///
/// It is given back by name: a process that is just being started has the file open too for a moment, and would hold it on.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Locks a file, if that is possible within `patience`.
    pub fn take(file: File, patience: Duration) -> io::Result<Option<Self>> {
        Ok(if wait(&file, patience)? { Some(Self(file)) } else { None })
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // The kernel gives it back anyway, once nobody has it open.
        let _ = self.0.unlock();
    }
}
