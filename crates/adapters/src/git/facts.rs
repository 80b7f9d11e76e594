//! What this process has learnt of commits, and of files in them.
//!
//! An object's name is the digest of what it says, so a commit's parents and its tree are the same in every repository and for
//! ever: whatever git has told of one need not be asked again. Only what was told without replacements is learnt.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// How many commits are remembered: those of a few runs, which are asked about again within moments.
const MOST: usize = 400;

/// What is known of a commit.
#[derive(Debug, Default, Clone)]
struct Fact {
    commit: String,
    parents: Option<Vec<String>>,
    tree: Option<String>,
    links: Option<Vec<String>>,
}

/// How many texts are remembered, and the longest of them, in bytes: of those that say how a project is worked on, one run after the other
/// asks for the same.
const MOST_TEXTS: usize = 8;
const LONGEST_TEXT: usize = 64 * 1024;

static TEXTS: Mutex<VecDeque<(String, String)>> = Mutex::new(VecDeque::new());
static KNOWN: Mutex<VecDeque<Fact>> = Mutex::new(VecDeque::new());

/// Remembers the parents of a commit.
pub(super) fn learn_parents(commit: &str, parents: Vec<String>) {
    learn(commit, |fact| fact.parents = Some(parents));
}

/// Remembers the tree of a commit.
pub(super) fn learn_tree(commit: &str, tree: &str) {
    learn(commit, |fact| fact.tree = Some(tree.to_owned()));
}

/// Returns the tree of a commit, if it is known.
pub(super) fn tree(commit: &str) -> Option<String> {
    known().iter().find(|fact| fact.commit == commit)?.tree.clone()
}

/// Remembers what is in a file, unless it is long.
pub(super) fn learn_text(object: &str, text: &str) {
    if text.len() <= LONGEST_TEXT {
        let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        texts.truncate(MOST_TEXTS - 1);
        texts.push_front((object.to_owned(), text.to_owned()));
    }
}

/// Returns what is in a file, if it is known.
pub(super) fn text(object: &str) -> Option<String> {
    let texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    texts.iter().find(|(known, _)| known == object).map(|(_, text)| text.clone())
}

/// Remembers which paths of a commit, or of a tree, are repositories.
pub(super) fn learn_links(object: &str, links: Vec<String>) {
    learn(object, |fact| fact.links = Some(links));
}

/// Returns which paths of a commit, or of a tree, are repositories, if that is known.
pub(super) fn links(object: &str) -> Option<Vec<String>> {
    known().iter().find(|fact| fact.commit == object)?.links.clone()
}

/// Returns the commits by which `to` goes on from `from`, oldest first, along first parents; nothing if it is not known
/// that it does, or by more than `most`.
pub(super) fn line(from: &str, to: &str, most: usize) -> Option<Vec<String>> {
    let known = known();
    let mut line = Vec::new();
    let mut next = to;
    while next != from {
        if line.len() >= most {
            return None;
        }
        line.push(next.to_owned());
        let fact = known.iter().find(|fact| fact.commit == next)?;
        next = fact.parents.as_ref()?.first()?;
    }
    line.reverse();
    Some(line)
}

fn learn(commit: &str, add: impl FnOnce(&mut Fact)) {
    let mut known = known();
    let place = known.iter().position(|fact| fact.commit == commit);
    let mut fact = place.and_then(|place| known.remove(place)).unwrap_or_default();
    fact.commit = commit.to_owned();
    add(&mut fact);
    known.truncate(MOST - 1);
    known.push_front(fact);
}

fn known() -> MutexGuard<'static, VecDeque<Fact>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_known_as_far_as_every_commit_of_it_is() {
        let name = |letter: &str| letter.repeat(40);
        let (a, b, c, other) = (name("a"), name("b"), name("c"), name("d"));
        learn_parents(&c, vec![b.clone(), other.clone()]);
        assert_eq!(line(&a, &c, 9), None);
        learn_parents(&b, vec![a.clone()]);
        assert_eq!(line(&a, &c, 9), Some(vec![b.clone(), c.clone()]));
        assert_eq!(line(&a, &c, 1), None);
        assert_eq!(line(&other, &c, 9), None, "only first parents are gone along");
        assert_eq!(line(&c, &c, 9), Some(Vec::new()));
        learn_tree(&c, &other);
        assert_eq!((tree(&c), tree(&a)), (Some(other), None));
    }
}
