//! A thread that waits for the disk, while whoever appends goes on.

use std::fs::File;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

/// How much memory it has, in bytes: it does nothing else.
const STACK: usize = 64 * 1024;

/// The thread, and what goes to it and comes from it. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Syncer {
    /// Taken when it is to end.
    logs: Option<Sender<File>>,
    outcomes: Receiver<io::Result<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    pub(super) fn start() -> io::Result<Self> {
        let (logs, wanted) = mpsc::channel::<File>();
        let (told, outcomes) = mpsc::channel();
        let sync = move || {
            for log in wanted {
                if told.send(log.sync_data()).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("sync".to_owned()).stack_size(STACK).spawn(sync)?;
        Ok(Self { logs: Some(logs), outcomes, thread: Some(thread) })
    }

    /// Begins to put on disk what was written to a log.
    pub(super) fn begin(&self, log: File) -> io::Result<()> {
        let sent = self.logs.as_ref().map(|logs| logs.send(log));
        sent.and_then(Result::ok).ok_or_else(|| io::Error::other("the thread that syncs has ended"))
    }

    /// Waits for what was begun.
    pub(super) fn wait(&self) -> io::Result<()> {
        self.outcomes.recv().unwrap_or_else(|_| Err(io::Error::other("the sync was cut short")))
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        drop(self.logs.take());
        if let Some(thread) = self.thread.take() {
            // It does not panic, and nobody is left who could be told.
            let _ = thread.join();
        }
    }
}
