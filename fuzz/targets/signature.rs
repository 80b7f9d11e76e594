//! The signature of a failure: it stays the same over noise.
#![no_main]

use engine::failure_signature;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let signature = failure_signature(text);
    assert!(signature.len() == 64 && signature.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(signature, failure_signature(&format!("\u{1b}[31m \n{text}\n")));
});
