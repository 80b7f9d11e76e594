//! Redaction: no value stays but what the mark itself makes look like one, a text that was redacted stays as it is, and none takes long.
#![no_main]

use adapters::secrets::{REMOVED, Secrets};
use fuzz::soon;
use libfuzzer_sys::fuzz_target;

const VALUES: [&str; 3] = ["canary-value-1", "secret removed] and", "1canary\n-val\"ue-of-two-lines"];

fuzz_target!(|text: &str| {
    let secrets = Secrets::of(VALUES);
    let clean = soon(|| secrets.redact(text).into_owned());
    assert!(clean.split(REMOVED).all(|part| VALUES.iter().all(|value| !part.contains(value))));
    assert_eq!(secrets.redact(&clean), clean);
});
