//! `warp docs`: planted drifts, texts that must not be taken for any, this project's own docs, and the gate in a run.

mod clean;
mod corpus;
mod gate;
mod support;
