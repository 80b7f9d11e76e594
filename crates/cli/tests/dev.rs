//! The dev environment: the commands of a person, and a demo web project that goes through whole runs.

mod commands;
mod demo;
mod ends;
mod running;
mod support;
