//! The same directories, as they are called outside of a sandbox and inside.
//!
//! A run's tree lies in warp's state directory, and inside the sandbox it is mounted over the project's own path. Whatever
//! crosses the border in either direction is translated by this type: paths one by one, text by the paths in it.

use std::{
    borrow::Cow,
    path::{Component, Path, PathBuf},
};

/// Pairs of directories that are the same one: its path outside, and its path inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    pairs: Vec<(PathBuf, PathBuf)>,
}

impl View {
    /// Returns a view in which each directory outside (first) is seen at another path inside (second).
    pub fn new(pairs: impl IntoIterator<Item = (PathBuf, PathBuf)>) -> Self {
        Self { pairs: pairs.into_iter().filter(|(outside, inside)| outside != inside).collect() }
    }

    /// Returns the path inside of what is outside at `path`.
    pub fn inside(&self, path: &Path) -> PathBuf {
        translate(path, self.pairs.iter().map(|(outside, inside)| (outside.as_path(), inside.as_path())))
    }

    /// Returns the path outside of what is inside at `path`. `..` is resolved by the text before, because a detour must
    /// not lead around the translation.
    pub fn outside(&self, path: &Path) -> PathBuf {
        let pairs = || self.pairs.iter().map(|(outside, inside)| (inside.as_path(), outside.as_path()));
        if self.pairs.is_empty() || !path.is_absolute() {
            return path.to_owned();
        }
        translate(&tidy(path), pairs())
    }

    /// Returns a text in which every path is the one inside.
    pub fn inside_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for (outside, inside) in &self.pairs {
            let (Some(from), Some(to)) = (outside.to_str(), inside.to_str()) else { continue };
            if let Some(replaced) = replace_path(&text, from, to) {
                text = Cow::Owned(replaced);
            }
        }
        text
    }
}

fn translate<'a>(path: &Path, mut pairs: impl Iterator<Item = (&'a Path, &'a Path)>) -> PathBuf {
    let found = pairs.find_map(|(from, to)| path.strip_prefix(from).ok().map(|rest| (to, rest)));
    match found {
        Some((to, rest)) if rest.as_os_str().is_empty() => to.to_owned(),
        Some((to, rest)) => to.join(rest),
        None => path.to_owned(),
    }
}

/// Replaces a path wherever it stands as a whole or with more behind it; nothing if it does not occur.
fn replace_path(text: &str, from: &str, to: &str) -> Option<String> {
    // `…/slots/1/tree2` is another directory than `…/slots/1/tree`.
    let goes_on = |after: &str| {
        after.chars().next().is_some_and(|next| next.is_alphanumeric() || matches!(next, '_' | '-'))
    };
    let mut done = String::new();
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.find(from) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        done.push_str(before);
        if goes_on(after) {
            done.push_str(from);
        } else {
            found = true;
            done.push_str(to);
        }
        rest = after;
    }
    done.push_str(rest);
    found.then_some(done)
}

/// Takes `.` and `..` out of a path, by its text.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = tidy.pop(),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => tidy.push(part),
        }
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> View {
        let pair = |outside: &str, inside: &str| (PathBuf::from(outside), PathBuf::from(inside));
        View::new([
            pair("/s/1/tree", "/home/ann/my ägypt"),
            pair("/s/1/git", "/run/warp/git"),
            pair("/x", "/x"),
        ])
    }

    #[test]
    fn paths_are_translated_in_both_directions() {
        let view = view();
        for (outside, inside) in [
            ("/s/1/tree", "/home/ann/my ägypt"),
            ("/s/1/tree/src/a.rs", "/home/ann/my ägypt/src/a.rs"),
            ("/s/1/git/index", "/run/warp/git/index"),
            ("/s/1/tree2/a", "/s/1/tree2/a"),
            ("/etc/passwd", "/etc/passwd"),
        ] {
            assert_eq!(view.inside(Path::new(outside)), Path::new(inside));
            assert_eq!(view.outside(Path::new(inside)), Path::new(outside));
        }
        assert_eq!(view.outside(Path::new("/home/ann/x/../my ägypt/a")), Path::new("/s/1/tree/a"));
        assert_eq!(view.outside(Path::new("src/a.rs")), Path::new("src/a.rs"));
    }

    #[test]
    fn a_text_names_the_paths_inside() {
        let text =
            view().inside_text("cd /s/1/tree; cat '/s/1/tree/a' /s/1/tree-2/b /s/1/git/config").into_owned();
        assert_eq!(
            text,
            "cd /home/ann/my ägypt; cat '/home/ann/my ägypt/a' /s/1/tree-2/b /run/warp/git/config"
        );
        assert_eq!(View::default().inside_text("/s/1/tree"), "/s/1/tree");
    }
}
