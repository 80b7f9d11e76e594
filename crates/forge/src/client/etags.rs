//! Answers that a server need not send again.

use std::collections::BTreeMap;

/// How much is kept, in bytes of bodies. A project with a thousand issues has a few megabytes of them.
const MOST: usize = 32 * 1024 * 1024;

/// The answers to paths, by the servers' own tags.
#[derive(Debug, Default)]
pub(super) struct Etags {
    known: BTreeMap<String, (u64, Known)>,
    bytes: usize,
    /// Counts uses, so that what was not used for longest goes first.
    uses: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) etag: String,
    pub(super) body: Vec<u8>,
    pub(super) link: Option<String>,
}

impl Etags {
    pub(super) fn get(&mut self, path: &str) -> Option<Known> {
        self.uses += 1;
        let (used, known) = self.known.get_mut(path)?;
        *used = self.uses;
        Some(known.clone())
    }

    pub(super) fn put(&mut self, path: &str, etag: &str, body: &[u8], link: Option<String>) {
        self.remove(path);
        if body.len() > MOST / 4 {
            return;
        }
        self.uses += 1;
        self.bytes += body.len();
        let known = Known { etag: etag.to_owned(), body: body.to_owned(), link };
        self.known.insert(path.to_owned(), (self.uses, known));
        while self.bytes > MOST {
            let oldest = self.known.iter().min_by_key(|(_, (used, _))| *used).map(|(path, _)| path.clone());
            let Some(oldest) = oldest else { break };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, path: &str) {
        if let Some((_, known)) = self.known.remove(path) {
            self.bytes = self.bytes.saturating_sub(known.body.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let mut etags = Etags::default();
        let body = vec![0; MOST / 4];
        for path in ["a", "b", "c", "d"] {
            etags.put(path, "1", &body, None);
        }
        assert!(etags.get("a").is_some());
        etags.put("e", "1", &body, None);
        assert!(etags.get("b").is_none() && etags.get("a").is_some() && etags.get("e").is_some());
        etags.put("e", "2", &[], None);
        etags.put("f", "1", &body, None);
        assert_eq!(etags.known.len(), 5);
        etags.put("g", "1", &vec![0; MOST / 4 + 1], None);
        assert!(etags.get("g").is_none(), "one answer does not take the place of all others");
    }
}
