//! Digests, as hexadecimal text.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 of `bytes` in hexadecimal.
pub fn digest(bytes: impl AsRef<[u8]>) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes.as_ref()) {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
    }
    text
}
