//! Digests, as hexadecimal text.

use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 of `bytes` in hexadecimal.
pub fn digest(bytes: impl AsRef<[u8]>) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes.as_ref()) {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}
