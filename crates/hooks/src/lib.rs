//! What a coding agent may do: its hooks in, one question to the engine, the agent's own answer out.

pub mod shell;
