//! `warp mcp`: the tools by which an agent talks back, spoken to over standard input and output.

mod away;
mod chat;
mod claude;
mod client;
mod codex;
mod driven;
mod protocol;
mod tools;
