//! An answer that nobody waits for any more, read to its end for what it used.
//!
//! A provider charges for an answer whether its client reads it or not. So when a client hangs up, the rest is read in
//! its place, for a while; what is not told by then is booked at its upper bound.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::timeout;

use crate::flow::Metering;

/// How long an answer is read on: a few thousand tokens take a minute.
pub(crate) const LONGEST: Duration = Duration::from_secs(120);
/// How much of it is read, in bytes.
const MOST: usize = 64 * 1024 * 1024;

/// Reads the rest of an answer, if there is still something to run on; else it is booked at once.
pub(crate) fn read_on(body: Incoming, metering: Box<Metering>) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(timeout(LONGEST, rest(body, metering)));
    }
}

/// Reads until the usage is told. Dropped before that, the request is booked at its upper bound.
async fn rest(mut body: Incoming, mut metering: Box<Metering>) {
    let mut length = 0;
    while !metering.is_over() && length <= MOST {
        match body.frame().await {
            Some(Ok(frame)) => {
                let Some(data) = frame.data_ref() else { continue };
                length += data.len();
                // Nobody waits for the booking.
                drop(metering.read(data));
            }
            Some(Err(_)) => metering.cut(),
            None => drop(metering.finish()),
        }
    }
}
