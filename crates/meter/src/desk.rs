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
use serde::Deserialize;
use tokio::sync::oneshot;

use crate::{
    Api, Book, Opening, Refusal, Ticket, Tokens,
    length::{self, Length},
    seen::Watch,
};

/// How long is waited before each further try of bookings that failed, when nothing else will come. Together it is less
/// than the end of the proxy is waited for.
const LAST_TRIES: [Duration; 5] = [
    Duration::from_millis(50),
    Duration::from_millis(150),
    Duration::from_millis(500),
    Duration::from_millis(1500),
    Duration::from_millis(3000),
];

/// The way to the thread; it ends when every copy of this is gone and everything is booked.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    jobs: Sender<Job>,
}

/// Leave to send a request, until what it used is booked. Dropped before that, it was not made use of.
#[derive(Debug)]
pub(crate) struct Leave {
    desk: Desk,
    ticket: Ticket,
    estimate: Tokens,
    is_over: bool,
}

#[derive(Debug)]
enum Job {
    Open { api: Api, body: Bytes, desk: Desk, leave: oneshot::Sender<Result<Leave, Refusal>> },
    Book { booking: Booking, done: oneshot::Sender<()> },
}

#[derive(Clone, Debug)]
struct Booking {
    ticket: Ticket,
    tokens: Tokens,
    is_over: bool,
}

impl Desk {
    /// Opens the desk; `ended` is told when everything is booked after the last copy is gone. What cannot be booked is
    /// put on the watch.
    pub(crate) fn open(book: Arc<dyn Book>, watch: Arc<Watch>, ended: Sender<()>) -> std::io::Result<Self> {
        let (jobs, todo) = channel();
        thread::Builder::new().name("meter-book".to_owned()).spawn(move || {
            Clerk { book, watch, late: Vec::new() }.work(&todo);
            // Nobody listens any more when the owner has lost its patience.
            let _ = ended.send(());
        })?;
        Ok(Self { jobs })
    }

    /// Asks for leave to send a request with this body.
    pub(crate) async fn ask(&self, api: Api, body: Bytes) -> Result<Leave, Refusal> {
        let (leave, answer) = oneshot::channel();
        // If the thread is gone, so is the other end of the answer.
        let _ = self.jobs.send(Job::Open { api, body, desk: self.clone(), leave });
        answer.await.unwrap_or_else(|_| Err(Refusal::Failed("whoever keeps it has ended".to_owned())))
    }
}

impl Leave {
    /// Returns what the request takes at least.
    pub(crate) fn estimate(&self) -> Tokens {
        self.estimate
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Books what the request has used so far. What it returns is ready when that is recorded.
    pub(crate) fn book(&self, tokens: Tokens) -> oneshot::Receiver<()> {
        let (done, receipt) = oneshot::channel();
        let booking = Booking { ticket: self.ticket.clone(), tokens, is_over: self.is_over };
        // If the thread is gone, no leave is given any more.
        let _ = self.desk.jobs.send(Job::Book { booking, done });
        receipt
    }

    /// Books what the request has used, and that nothing more will come.
    pub(crate) fn end(&mut self, tokens: Tokens) -> oneshot::Receiver<()> {
        self.is_over = true;
        self.book(tokens)
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        if !self.is_over {
            drop(self.end(Tokens::default()));
        }
    }
}

struct Clerk {
    book: Arc<dyn Book>,
    watch: Arc<Watch>,
    /// Bookings that failed. While there are any, no leave is given, so they are few.
    late: Vec<Booking>,
}

impl Clerk {
    fn work(&mut self, todo: &Receiver<Job>) {
        while let Ok(job) = todo.recv() {
            match job {
                Job::Open { api, body, desk, leave } => {
                    // If the client has hung up, the leave comes back as a job.
                    let _ = leave.send(self.ask(api, &body, desk));
                }
                Job::Book { booking, done } => {
                    self.record(booking);
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

    fn ask(&mut self, api: Api, body: &[u8], desk: Desk) -> Result<Leave, Refusal> {
        self.catch_up()?;
        let opening = opening(api, body);
        let ticket = self.book.open(&opening)?;
        Ok(Leave { desk, ticket, estimate: opening.estimate, is_over: false })
    }

    fn record(&mut self, booking: Booking) {
        self.late.retain(|late| late.ticket != booking.ticket);
        let booked = self.book.book(&booking.ticket, booking.tokens, booking.is_over);
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
            let booked = self.book.book(&late.ticket, late.tokens, late.is_over);
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

/// A request, as far as it is looked at.
#[derive(Debug, Deserialize)]
struct Body {
    model: Option<String>,
    system: Option<Length>,
    instructions: Option<Length>,
    messages: Option<Length>,
    input: Option<Length>,
    tools: Option<Length>,
}

/// Reads what a request asks for. One that cannot be read is some model's, and as long as its bytes.
fn opening(api: Api, body: &[u8]) -> Opening {
    let (model, input) = match serde_json::from_slice::<Body>(body) {
        Ok(body) => {
            let parts = [body.system, body.instructions, body.messages, body.input, body.tools];
            let length = Length(parts.into_iter().flatten().map(|part| part.0).sum());
            (body.model.unwrap_or_default(), length.tokens())
        }
        Err(_) => (String::new(), length::tokens(body.len() as u64)),
    };
    Opening { api, model, estimate: Tokens { input, ..Tokens::default() } }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::BookError;

    #[test]
    fn a_request_is_read_as_far_as_it_can_be() {
        let body = br#"{"model":"m","system":"12345678","messages":[{"role":"user","content":"1234"}],"stream":true}"#;
        let read = opening(Api::Messages, body);
        assert_eq!((read.model.as_str(), read.estimate.input), ("m", 3));
        let unreadable = opening(Api::Messages, b"(\xb5/\xfd compressed");
        assert_eq!((unreadable.model.as_str(), unreadable.estimate.input), ("", 4));
    }

    #[derive(Default)]
    struct Stubborn {
        is_broken: Mutex<bool>,
        count: Mutex<u32>,
        booked: Mutex<Vec<String>>,
    }

    impl Book for Stubborn {
        fn open(&self, _: &Opening) -> Result<Ticket, Refusal> {
            let mut count = self.count.lock().unwrap();
            *count += 1;
            Ok(Ticket(count.to_string()))
        }

        fn book(&self, ticket: &Ticket, tokens: Tokens, is_over: bool) -> Result<(), BookError> {
            if *self.is_broken.lock().unwrap() {
                return Err(BookError("the disk is full".to_owned()));
            }
            self.booked.lock().unwrap().push(format!("{} {} {is_over}", ticket.0, tokens.output));
            Ok(())
        }
    }

    #[test]
    fn a_booking_that_fails_is_made_before_the_next_leave_is_given() {
        let book = Arc::new(Stubborn::default());
        let (tell, ended) = channel();
        let desk = Desk::open(Arc::<Stubborn>::clone(&book), Arc::default(), tell).unwrap();
        let tokens = |output| Tokens { output, ..Tokens::default() };
        let ask = || {
            let (leave, answer) = oneshot::channel();
            let body = Bytes::from_static(b"{}");
            desk.jobs.send(Job::Open { api: Api::Chat, body, desk: desk.clone(), leave }).unwrap();
            answer.blocking_recv().unwrap()
        };

        let mut leave = ask().unwrap();
        *book.is_broken.lock().unwrap() = true;
        leave.book(tokens(1)).blocking_recv().unwrap();
        leave.end(tokens(2)).blocking_recv().unwrap();
        assert_eq!(ask().unwrap_err(), Refusal::Failed("the disk is full".to_owned()));

        *book.is_broken.lock().unwrap() = false;
        drop(ask().unwrap());
        drop((leave, desk));
        ended.recv().unwrap();
        // The last is the leave that nobody made use of.
        assert_eq!(*book.booked.lock().unwrap(), ["1 2 true", "2 0 true"]);
    }
}
