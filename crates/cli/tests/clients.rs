//! The same issue with every agent: the real clients, each against a scripted model and behind walls, and programs.

mod again;
mod background;
mod client;
mod coder;
mod compacted;
mod denied;
mod first_turn;
mod killed;
mod notices;
mod processes;
mod project;
mod resumed;
mod same;
mod servers;
mod spend;
