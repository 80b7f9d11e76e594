//! Which files differ from a commit, and which are new: listed once for several questions that are asked in one go.

use super::Git;

/// A cache of the files that differ from a commit. Discard it whenever the tree or the commit may have
/// changed.
#[derive(Debug, Default)]
pub struct ListingCache(Option<(String, Listing)>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listing {
    /// Files that git knows.
    pub(super) changed: Vec<String>,
    /// Files that it does not know, and is not told to ignore.
    pub(super) new: Vec<String>,
}

impl Git<'_> {
    /// Lists the files that differ from `base`, unless that was done.
    pub(super) fn list<'l>(&self, base: &str, listed: &'l mut ListingCache) -> Result<&'l Listing, String> {
        let known = listed.0.take().filter(|(known, _)| known == base);
        let known = match known {
            Some(known) => known,
            None => (base.to_owned(), self.listing(base)?),
        };
        Ok(&listed.0.insert(known).1)
    }

    fn listing(&self, base: &str) -> Result<Listing, String> {
        if self.head_in_files().is_some_and(|head| head == base) {
            let how = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"];
            let status = self.run(&how, &[])?;
            if let Some(listing) = of_status(&String::from_utf8_lossy(&status.stdout))
                .filter(|_| status.is_success() && !status.cut)
            {
                return Ok(listing);
            }
        }
        let changed =
            self.text(&["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", base, "--"], &[])?;
        let new = self.text(&["ls-files", "--others", "--exclude-standard", "-z"], &[])?;
        let names = |text: &str| -> Vec<String> {
            text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        Ok(Listing { changed: names(&changed), new: names(&new) })
    }
}

/// Reads what differs from the current commit off a status; nothing where that does not tell it.
fn of_status(status: &str) -> Option<Listing> {
    let mut listing = Listing { changed: Vec::new(), new: Vec::new() };
    for entry in status.split('\0').filter(|entry| !entry.is_empty()) {
        if let Some(name) = entry.strip_prefix("? ") {
            listing.new.push(name.to_owned());
            continue;
        }
        let words: Vec<&str> = entry.splitn(9, ' ').collect();
        let ["1", state, "N...", .., name] = words.as_slice() else { return None };
        // What was changed in the index and again in the tree may be as it was.
        if words.len() != 9 || !state.contains('.') {
            return None;
        }
        listing.changed.push((*name).to_owned());
    }
    Some(listing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(state: &str, name: &str) -> String {
        format!("1 {state} N... 100644 100644 100644 1234 5678 {name}\0")
    }

    #[test]
    fn a_status_tells_changed_and_new_files_unless_it_is_not_plain() {
        let plain = format!("{}{}? new one\0", entry(".M", "a b"), entry("A.", "c"));
        let listing = of_status(&plain).unwrap();
        assert_eq!((listing.changed, listing.new), (vec!["a b".into(), "c".into()], vec!["new one".into()]));
        assert_eq!(of_status(&entry("MM", "a")), None, "it may be as it was in the commit");
        assert_eq!(of_status(&entry(".M", "a").replace("N...", "S.M.")), None, "another repository");
        assert_eq!(of_status("u UU N... 1 1 1 1 a b c d\0"), None);
        assert_eq!(of_status("1 .M N... 1\0"), None);
    }
}
