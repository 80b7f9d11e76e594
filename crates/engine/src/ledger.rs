//! The ledger: what was spent, in tokens and millionths of a dollar, and whether more may be.
//!
//! A request is recorded before it goes out, with what it will use at least, and booked while its answer comes. Entries
//! are folded by the ids in them: in any order, and however often each of them comes, the sums are the same. A request
//! that is under way counts at its estimate or at what is booked of it, whichever is more. One that was never booked
//! to its end stays so, and is marked: whoever sent it has died, and what it used cannot be known.
//!
//! Invariants:
//! - Whole numbers only. What something cost is recorded with it; prices are never applied twice.
//! - [`Books::refusal`] and [`Books::full`] are asked before every request. What is let out is in the sums, or held
//!   against the caps, before they are asked again. An agent's only request goes out as long as the cap is not
//!   reached; all others need room for what they are expected to use. So the sum passes a cap by no more than one
//!   request of each agent, and what the others use beyond what they held.

mod books;
mod caps;
mod entry;
mod prices;
mod report;
mod typical;

pub use books::{Booking, Books, Line};
pub use caps::{Cap, CapReached, Caps, Scope, Unit};
pub use entry::{Entry, Pause, Tags};
pub use prices::{BadPrices, Price, Prices};
pub use report::{By, Report, Row, dollars};
