//! The metering proxy: an agent's model traffic on its way to the provider, and what it uses.
//!
//! [`Proxy::start`] listens on loopback. Requests that cost money (Anthropic's Messages, OpenAI's Responses and Chat)
//! need leave from a [`Book`] before they go out, and what they use is booked while their answers flow. What
//! is known to cost nothing passes, and any other POST is refused. An answer goes through chunk by chunk as it comes: [`UsageReader`] reads a copy of it.
//!
//! Invariants:
//! - No request that is to be metered goes out without a ticket, and every ticket is booked as over: at the answer's end,
//!   at a cut, or some time after the client hung up.
//! - What is booked as over is never less than what the provider may charge: usage that was not told is booked at its
//!   upper bound, and marked.
//! - A booking waits for the disk in a thread of its own (`desk`), never where streams flow.
//! - What reads an answer never fails it.
//! - Keys, logins and bodies pass through. They are not stored, not logged, and not in any error.

mod book;
mod desk;
mod flow;
mod length;
mod limit;
mod opening;
mod proxy;
mod read_on;
mod refuse;
mod route;
mod seen;
mod serve;
mod sse;
mod usage;

pub use book::{Api, Book, BookError, Opening, Refusal, Stage, Ticket, Tokens};
pub use proxy::{Proxy, ProxyError};
pub use route::Upstreams;
pub use seen::{Limit, Outage, Retry, Traffic};
pub use usage::UsageReader;
