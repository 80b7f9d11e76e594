//! Scripts of events, and what comes of them: one line for each.

#[path = "../oracle/mod.rs"]
mod oracle;
mod script;
#[path = "../support/mod.rs"]
mod support;

mod acceptance;
mod agents;
mod budgets;
mod chunks;
mod coder;
mod evidence;
mod factory;
mod facts;
mod gates;
mod looping;
mod overrule;
mod promise;
mod proposed;
mod receipts;
mod standing;
mod turns;
mod waits;
