//! The guard: a small file beside the store that does three things for the price of one open.
//!
//! - It is locked, shared by whoever has the store open and exclusively by a repair, so that no repair pulls the
//!   store away from under a writer. SQLite's own locks cannot serve: they go with the file, and a damaged file
//!   may not get as far as locking.
//! - It holds the last acknowledged position, written without a sync after each commit. A store that ends before
//!   it has lost acknowledged events (its log was deleted or torn, or an older copy was put back), which SQLite
//!   cannot see. It may lag behind, after a power cut or a kill, but never lead.
//! - That write wakes whoever watches the store. It comes after the commit can be seen, where a write to the log
//!   comes before; and if a writer is killed in between, the kernel's closing of the guard wakes them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::place::{GUARD, beside};

/// How long anyone waits for a lock. A repair of a very large store is the only thing that takes longer.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How often a lock is tried again. Only a repair is ever waited for, and it takes at least this long.
const PAUSE: Duration = Duration::from_millis(5);

/// How long a program that is just being started may have the store open.
const STARTING: Duration = Duration::from_secs(1);

/// Digits of the position, so that a shorter one overwrites a longer one whole.
const DIGITS: usize = 20;

/// The highest position or generation that is believed of a damaged file. To get there takes centuries.
///
/// Believing a higher one would leave a repaired store without positions to give out.
pub(super) const PLAUSIBLE: u64 = 1 << 53;

/// A held lock on the guard of one store.
#[derive(Debug)]
pub(super) struct Guard {
    file: File,
}

impl Guard {
    /// Shares the store at `path` with others who use it; waits while a repair owns it.
    ///
    /// Fails with [`io::ErrorKind::WouldBlock`] when that takes too long.
    pub(super) fn share(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        let started = Instant::now();
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
                Ok(()) => return Ok(Self { file }),
                Err(Errno::WOULDBLOCK) if started.elapsed() < PATIENCE => thread::sleep(PAUSE),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Owns the store at `path`, or returns `None` if anyone else has it open.
    ///
    /// A program that is just being started has it open for a moment, because whoever starts it has.
    pub(super) fn own(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        let begun = Instant::now();
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(Self { file })),
                Err(Errno::WOULDBLOCK | Errno::INTR) if begun.elapsed() < STARTING => thread::sleep(PAUSE),
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns the last acknowledged position, or 0 if none is known.
    pub(super) fn acknowledged(&self) -> u64 {
        acknowledged(&self.file)
    }

    /// Notes that everything up to `position` is durable, and wakes the watchers.
    pub(super) fn acknowledge(&self, position: u64) {
        // The append has happened and is reported as such; a lagging note only weakens a later check.
        let _ = self.file.write_all_at(format!("{position:0DIGITS$}\n").as_bytes(), 0);
    }
}

/// Returns the last acknowledged position of the store at `path` without making a guard where there is none.
pub(super) fn acknowledged_at(path: &Path) -> u64 {
    File::open(beside(path, GUARD)).map_or(0, |file| acknowledged(&file))
}

fn acknowledged(file: &File) -> u64 {
    let mut digits = [0; DIGITS];
    if file.read_exact_at(&mut digits, 0).is_err() {
        return 0;
    }
    let position = std::str::from_utf8(&digits).ok().and_then(|digits| digits.parse().ok());
    position.filter(|position| *position <= PLAUSIBLE).unwrap_or(0)
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(beside(path, GUARD))
}
