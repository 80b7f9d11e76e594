//! Where the book is kept: one thread that asks for leave and books, in the order in which it is told to.
//!
//! Streams never wait for a disk here unless they want to know that something is on it. Because the order is kept, a
//! request that follows an answer is judged with that answer booked.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::{Notify, oneshot};

use crate::{Api, Book, Opening, Refusal, Stage, Ticket, Tokens, opening, seen::TrafficLog};

/// How long is waited before each further try of bookings that failed, when nothing else will come. Together it is less
/// than the end of the proxy is waited for.
const LAST_TRIES: [Duration; 5] = [
    Duration::from_millis(50),
    Duration::from_millis(150),
    Duration::from_millis(500),
    Duration::from_millis(1500),
    Duration::from_millis(3000),
];

/// Handle of the bookkeeper thread, which ends once all handles are dropped and everything is booked.
#[derive(Clone, Debug)]
pub(crate) struct BookkeeperHandle {
    jobs: Sender<Job>,
    /// Told whenever a request is over.
    freed: Arc<Notify>,
}

/// Leave to send a request, until what it used is booked. Dropped before that, it was not made use of.
#[derive(Debug)]
pub(crate) struct Permit {
    desk: BookkeeperHandle,
    ticket: Ticket,
    opening: Opening,
    is_over: bool,
}

/// A request for permission.
#[derive(Debug)]
pub(crate) enum PermitRequest {
    Body(Api, Bytes),
    /// One that was read, and had to wait.
    Again(Opening),
}

/// Reply to a [`PermitRequest`].
#[derive(Debug)]
pub(crate) enum PermitReply {
    Leave(Permit),
    /// It has to wait until another request is over.
    Wait(Opening),
}

#[derive(Debug)]
enum Job {
    Open {
        wanted: PermitRequest,
        desk: BookkeeperHandle,
        told: oneshot::Sender<Result<PermitReply, Refusal>>,
    },
    Book {
        booking: Booking,
        done: oneshot::Sender<()>,
    },
}

#[derive(Clone, Debug)]
struct Booking {
    ticket: Ticket,
    tokens: Tokens,
    stage: Stage,
}

impl BookkeeperHandle {
    /// Opens the desk; `ended` is told when everything is booked after the last copy is gone. What cannot be booked is
    /// put on the watch.
    pub(crate) fn open(
        book: Arc<dyn Book>,
        watch: Arc<TrafficLog>,
        ended: Sender<()>,
    ) -> std::io::Result<Self> {
        let (jobs, todo) = channel();
        let freed = Arc::new(Notify::new());
        let tell = Arc::clone(&freed);
        thread::Builder::new().name("meter-book".to_owned()).spawn(move || {
            Bookkeeper { book, watch, freed: tell, late: Vec::new() }.work(&todo);
            // Nobody listens any more when the owner has lost its patience.
            let _ = ended.send(());
        })?;
        Ok(Self { jobs, freed })
    }

    /// Returns what is told from now on when a request is over.
    pub(crate) fn freed(&self) -> &Notify {
        &self.freed
    }

    /// Asks for leave to send a request.
    pub(crate) async fn ask(&self, wanted: PermitRequest) -> Result<PermitReply, Refusal> {
        let (told, answer) = oneshot::channel();
        // If the thread is gone, so is the other end of the answer.
        let _ = self.jobs.send(Job::Open { wanted, desk: self.clone(), told });
        answer.await.unwrap_or_else(|_| Err(Refusal::Failed("whoever keeps it has ended".to_owned())))
    }
}

impl Permit {
    /// Returns what the request takes at least.
    pub(crate) fn estimate(&self) -> Tokens {
        self.opening.estimate
    }

    /// Returns what the request can use at most.
    pub(crate) fn bound(&self) -> Tokens {
        self.opening.bound
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Books what the request has used so far. What it returns is ready when that is recorded.
    pub(crate) fn book(&self, tokens: Tokens) -> oneshot::Receiver<()> {
        self.book_as(tokens, Stage::UnderWay)
    }

    fn book_as(&self, tokens: Tokens, stage: Stage) -> oneshot::Receiver<()> {
        let (done, receipt) = oneshot::channel();
        let booking = Booking { ticket: self.ticket.clone(), tokens, stage };
        // If the thread is gone, no leave is given any more.
        let _ = self.desk.jobs.send(Job::Book { booking, done });
        receipt
    }

    /// Books what the request has used, and that nothing more will come.
    pub(crate) fn end(&mut self, tokens: Tokens) -> oneshot::Receiver<()> {
        self.is_over = true;
        self.book_as(tokens, Stage::Over)
    }

    /// Books the most that the request can have used, and that nothing more will come.
    pub(crate) fn end_at_most(&mut self, tokens: Tokens) -> oneshot::Receiver<()> {
        self.is_over = true;
        self.book_as(tokens, Stage::OverAtMost)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.is_over {
            drop(self.end(Tokens::default()));
        }
    }
}

struct Bookkeeper {
    book: Arc<dyn Book>,
    watch: Arc<TrafficLog>,
    freed: Arc<Notify>,
    /// Bookings that failed. While there are any, no leave is given, so they are few.
    late: Vec<Booking>,
}

impl Bookkeeper {
    fn work(&mut self, todo: &Receiver<Job>) {
        while let Ok(job) = todo.recv() {
            match job {
                Job::Open { wanted, desk, told } => {
                    // If the client has hung up, the leave comes back as a job.
                    let _ = told.send(self.ask(wanted, desk));
                }
                Job::Book { booking, done } => {
                    let is_over = booking.stage.is_over();
                    self.record(booking);
                    if is_over {
                        self.freed.notify_waiters();
                    }
                    // The stream may be gone.
                    let _ = done.send(());
                }
            }
        }
        self.close();
    }

    /// Tries for a while to book what is left. What fails for good is on the watch: there is no later.
    fn close(&mut self) {
        for pause in LAST_TRIES {
            if self.catch_up().is_ok() {
                return;
            }
            thread::sleep(pause);
        }
        let _ = self.catch_up();
    }

    fn ask(&mut self, wanted: PermitRequest, desk: BookkeeperHandle) -> Result<PermitReply, Refusal> {
        self.catch_up()?;
        let opening = match wanted {
            PermitRequest::Body(api, body) => opening::read(api, &body),
            PermitRequest::Again(opening) => opening,
        };
        Ok(match self.book.open(&opening)? {
            Some(ticket) => PermitReply::Leave(Permit { desk, ticket, opening, is_over: false }),
            None => PermitReply::Wait(opening),
        })
    }

    fn record(&mut self, booking: Booking) {
        self.late.retain(|late| late.ticket != booking.ticket);
        let booked = self.book.book(&booking.ticket, booking.tokens, booking.stage);
        match booked {
            Ok(()) if self.late.is_empty() => self.watch.booked(),
            Ok(()) => {}
            Err(error) => {
                self.watch.unbooked(error.to_string());
                self.late.push(booking);
            }
        }
    }

    /// Books what could not be booked before.
    fn catch_up(&mut self) -> Result<(), Refusal> {
        while let Some(late) = self.late.first() {
            let booked = self.book.book(&late.ticket, late.tokens, late.stage);
            if let Err(error) = booked {
                self.watch.unbooked(error.to_string());
                return Err(Refusal::Failed(error.to_string()));
            }
            self.late.remove(0);
        }
        self.watch.booked();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::BookError;

    #[derive(Default)]
    struct Stubborn {
        is_broken: Mutex<bool>,
        count: Mutex<u32>,
        booked: Mutex<Vec<String>>,
    }

    impl Book for Stubborn {
        fn open(&self, _: &Opening) -> Result<Option<Ticket>, Refusal> {
            let mut count = self.count.lock().unwrap();
            *count += 1;
            Ok(Some(Ticket(count.to_string())))
        }

        fn book(&self, ticket: &Ticket, tokens: Tokens, stage: Stage) -> Result<(), BookError> {
            if *self.is_broken.lock().unwrap() {
                return Err(BookError("the disk is full".to_owned()));
            }
            self.booked.lock().unwrap().push(format!("{} {} {stage:?}", ticket.0, tokens.output));
            Ok(())
        }
    }

    #[test]
    fn a_booking_that_fails_is_made_before_the_next_leave_is_given() {
        let book = Arc::new(Stubborn::default());
        let (tell, ended) = channel();
        let desk = BookkeeperHandle::open(Arc::<Stubborn>::clone(&book), Arc::default(), tell).unwrap();
        let tokens = |output| Tokens { output, ..Tokens::default() };
        let ask = || {
            let (told, answer) = oneshot::channel();
            let wanted = PermitRequest::Body(Api::Chat, Bytes::from_static(b"{}"));
            desk.jobs.send(Job::Open { wanted, desk: desk.clone(), told }).unwrap();
            answer.blocking_recv().unwrap()
        };

        let Ok(PermitReply::Leave(mut leave)) = ask() else { panic!("there is room") };
        *book.is_broken.lock().unwrap() = true;
        leave.book(tokens(1)).blocking_recv().unwrap();
        leave.end(tokens(2)).blocking_recv().unwrap();
        assert_eq!(ask().unwrap_err(), Refusal::Failed("the disk is full".to_owned()));

        *book.is_broken.lock().unwrap() = false;
        drop(ask().unwrap());
        drop((leave, desk));
        ended.recv().unwrap();
        // The last is the leave that nobody made use of.
        assert_eq!(*book.booked.lock().unwrap(), ["1 2 Over", "2 0 Over"]);
    }
}
