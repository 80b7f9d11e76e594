//! A directory on this machine in which a run works: where things are, its small files, and how what a repository holds
//! is run there.
//!
//! - [`Place`] finds a directory's repository, own directory and project;
//! - [`quick_head`] reads the head, which answers hooks without the store;
//! - [`Shell`] runs tests, gates and a person's hooks, in the sandbox where there is one;
//! - [`atomic`] and [`text`] write and read small files that anybody may have put there.
//!
//! No store is opened here and no event is decided.

pub mod atomic;
mod head;
mod place;
mod shell;
mod spell;
pub mod text;

pub use head::{HeadLookup, quick_gate, quick_head, quick_roots};
pub use place::{Place, PlaceError};
pub use shell::Shell;
pub use spell::{counted, spelled};
