//! The metering proxy against no proxy. What is measured is in `crates/meter/benches/proxy.rs`, which is built like what is
//! installed.

use crate::{
    build::DIST,
    run::{Result, cargo, check},
};

/// Runs the benchmark, with as many requests as the caller says if they do.
pub(super) fn run(requests: &[&str]) -> Result {
    let bench = ["bench", "--quiet", "--profile", DIST, "--package", "meter", "--bench", "proxy", "--"];
    check(cargo(&bench).args(requests))
}
