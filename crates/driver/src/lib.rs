//! The loop: takes a run from where it stands to its end, one phase after the other.
//!
//! A phase is done by whoever its workflow names. What is the engine's own is done by [`project`]; what is an agent's
//! is put to an agent process, whose answer is checked and becomes an event; what is a person's is asked of a person.
//! Every step is recorded before the next one begins, so the loop itself remembers nothing: after a crash it looks at
//! the run and goes on.
//!
//! Invariants:
//! - The loop decides nothing. It offers events to the engine and does what then has to be done.
//! - An issue is worked on by one process at a time: the claim is kept up while the loop runs, and looked at before
//!   every act.
//! - Nothing that an agent says is believed: it is offered in the agent's name, and the engine asks for proof.
//! - Every wait has an end: a limit of the agent's, a decision's deadline, or a person's signal.

mod access;
mod after_turn;
mod agents;
mod answer;
mod attach;
mod away;
mod brief;
mod briefing;
mod consent;
mod crew;
mod dev;
mod driver;
mod feature;
mod header;
mod interrupts;
mod loops;
mod notices;
mod person;
mod ready;
mod review_pull;
mod second_look;
mod session;
mod show;
mod spend;
mod start;
mod tests_first;
mod waits;
mod wake;
mod work;

pub use consent::ask_push;
pub use driver::{DriveError, Driver, Finish};
pub use header::{Header, SessionCap};
pub use interrupts::Interrupts;
pub use review_pull::{ReviewEnd, ReviewError, ReviewOptions, Reviewed, review_pull};
pub use session::{SessionError, drive};
pub use show::{Reply, Show, Shown};
pub use spend::SpendError;
pub use start::{After, Options, StartError, Walled, content_shell, sandbox};
pub use tests_first::{Tests, check_tests};
