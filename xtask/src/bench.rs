//! In the making.

use crate::run::Result;

pub(crate) fn run(_: &[&str]) -> Result {
    Err("not there yet".to_owned())
}
