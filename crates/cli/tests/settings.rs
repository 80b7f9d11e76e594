//! Every setting, by name: a test that begins with its name shows that changing it changes what happens.

pub(crate) mod complete;
mod drive;
mod loops;
mod owner;

const WARP: &str = env!("CARGO_BIN_EXE_warp");
