//! Short forms of hashes and lists of files.

use engine::Held;

/// How many names of files are said.
const FILES_SHOWN: usize = 8;

pub(crate) fn short(hash: &str) -> &str {
    hash.get(..10).unwrap_or(hash)
}

/// Says which files are left out of a commit.
pub(crate) fn and_left_out(files: &[String]) -> String {
    if files.is_empty() {
        String::new()
    } else {
        format!(", without what was there before the run: {}", list(files))
    }
}

pub(crate) fn list_held(held: &[Held]) -> String {
    list(&held.iter().map(ToString::to_string).collect::<Vec<_>>())
}

pub(crate) fn are(files: &[String]) -> String {
    format!("{} {}", list(files), if files.len() == 1 { "is" } else { "are" })
}

pub(crate) fn list(files: &[String]) -> String {
    let shown = files.iter().take(FILES_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(FILES_SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
