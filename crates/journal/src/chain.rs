//! The hash chain that makes a stream tell on whoever changes it.
//!
//! Every event's hash covers the hash before it, and the stream's row keeps the last one together with the number
//! of events. A changed event, a missing one, one put in between and a cut tail each break a different link.
//! What is kept beside the stream is sealed by a hash of its own, which covers the head of the chain.
//!
//! Every field of variable length is preceded by its length, so no two different events feed the hash the same bytes.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::store::{NewEvent, StreamId, Version, View};

/// A SHA-256 hash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest([u8; 32]);

impl Digest {
    /// What comes before the first event.
    pub(crate) const ZERO: Self = Self([0; 32]);

    pub(crate) fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Digest {
    /// Writes the first bytes: enough to tell two apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..6].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What the chain says about one event: all of it but its position, which belongs to the store.
pub(crate) struct Link<'a> {
    pub(crate) stream: &'a StreamId,
    pub(crate) seq: u64,
    pub(crate) record: u64,
    pub(crate) at: i64,
    pub(crate) kind: &'a str,
    pub(crate) body: &'a [u8],
}

impl Link<'_> {
    /// Returns the hash of this event after an event whose hash is `previous`.
    pub(crate) fn hash(&self, previous: &Digest) -> Digest {
        let mut hasher = Hasher::new();
        hasher.fixed(previous.as_bytes());
        hasher.sized(self.stream.as_str().as_bytes());
        hasher.fixed(&self.seq.to_le_bytes());
        hasher.fixed(&self.record.to_le_bytes());
        hasher.fixed(&self.at.to_le_bytes());
        hasher.sized(self.kind.as_bytes());
        hasher.sized(self.body);
        hasher.finish()
    }
}

/// Events on their way into a stream: the hash of each, and the version they lead to.
pub(crate) struct Extension {
    pub(crate) first_seq: u64,
    pub(crate) record: u64,
    pub(crate) hashes: Vec<Digest>,
    pub(crate) version: Version,
}

/// Chains `events` to a stream at `version`.
pub(crate) fn extend(stream: &StreamId, version: &Version, events: &[NewEvent]) -> Extension {
    let first_seq = version.events();
    let end = first_seq + events.len() as u64;
    let record = end.saturating_sub(1);
    let mut head = *version.head();
    let mut hashes = Vec::with_capacity(events.len());
    for (seq, event) in (first_seq..).zip(events) {
        let link = Link { stream, seq, record, at: event.at, kind: &event.kind, body: &event.body };
        head = link.hash(&head);
        hashes.push(head);
    }
    Extension { first_seq, record, hashes, version: Version::new(end, head) }
}

/// Returns the seal of what is kept beside `stream`.
pub(crate) fn seal(stream: &StreamId, version: &Version, updated_at: i64, view: View<'_>) -> Digest {
    let mut hasher = Hasher::new();
    hasher.fixed(version.head().as_bytes());
    hasher.sized(stream.as_str().as_bytes());
    hasher.fixed(&version.events().to_le_bytes());
    hasher.fixed(&updated_at.to_le_bytes());
    hasher.optional(view.mark);
    hasher.optional(view.topic);
    hasher.sized(view.snapshot);
    hasher.finish()
}

struct Hasher(Sha256);

impl Hasher {
    fn new() -> Self {
        Self(Sha256::new())
    }

    fn fixed(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn sized(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn optional(&mut self, text: Option<&str>) {
        self.0.update([u8::from(text.is_some())]);
        self.sized(text.unwrap_or_default().as_bytes());
    }

    fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, body: &str) -> NewEvent {
        NewEvent { at: 7, kind: kind.into(), body: body.into() }
    }

    #[test]
    fn moving_a_byte_between_fields_changes_the_hash() {
        let stream = StreamId::parse("run:a").unwrap();
        let one = extend(&stream, &Version::NONE, &[event("ab", "c")]);
        let other = extend(&stream, &Version::NONE, &[event("a", "bc")]);
        assert_ne!(one.version, other.version);
    }

    #[test]
    fn two_events_at_once_differ_from_the_same_two_one_by_one() {
        let stream = StreamId::parse("run:a").unwrap();
        let (first, second) = (event("a", "1"), event("b", "2"));
        let together = extend(&stream, &Version::NONE, &[first.clone(), second.clone()]).version;
        let after_first = extend(&stream, &Version::NONE, &[first]).version;
        let apart = extend(&stream, &after_first, &[second]).version;
        assert_ne!(together, apart);
    }

    #[test]
    fn no_mark_and_an_empty_mark_are_sealed_differently() {
        let stream = StreamId::parse("run:a").unwrap();
        let without = View::default();
        let with = View { mark: Some(""), ..without };
        assert_ne!(seal(&stream, &Version::NONE, 0, without), seal(&stream, &Version::NONE, 0, with));
    }
}
