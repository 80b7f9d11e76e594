//! Tests that a change removes or skips.
//!
//! A test that was moved to another file, or was given another name, is not removed: it is found again by its name, or by
//! its lines.

use std::collections::BTreeMap;

use adapters::git::ObjectKind;
use engine::{Held, HeldKind};

use super::{
    ChangedFile, finding,
    sources::{self, SourceTest, State},
};

/// How many lines of a test are the same at least if it was renamed, in parts of all.
const SAME_LINES: f64 = 0.5;
/// How many words of its name are the same at least.
const SAME_WORDS: f64 = 0.5;

/// A test with its file.
struct LocatedTest<'a> {
    path: &'a str,
    test: SourceTest,
}

/// Finds tests that a change removes.
pub(super) fn deleted(files: &[&ChangedFile]) -> Vec<Held> {
    let mut gone = before(files);
    let mut new = after(files);
    // The same test in the same place, then one of the same name anywhere, then one that was renamed.
    let place = |file: &LocatedTest<'_>| (new_path(files, file.path).to_owned(), file.test.name.clone());
    pair(&mut gone, &mut new, |old, new| place(old) == (new.path.to_owned(), new.test.name.clone()));
    pair(&mut gone, &mut new, |old, new| last(&old.test.name) == last(&new.test.name));
    pair(&mut gone, &mut new, |old, new| is_renamed(&old.test, &new.test));
    let mut held: Vec<Held> = Vec::new();
    for old in gone {
        let is_whole_file = files.iter().any(|file| file.path == old.path && file.after.is_none());
        if is_whole_file {
            continue;
        }
        let what = format!("removes the test `{}`", old.test.name);
        held.push(finding(HeldKind::DeletedTest, new_path(files, old.path), None, what, &old.test.name));
    }
    held.extend(deleted_files(files));
    held
}

/// Finds test files that a change removes, and whose tests are nowhere else.
fn deleted_files(files: &[&ChangedFile]) -> Vec<Held> {
    let mut left: Vec<String> = after(files).into_iter().map(|new| last(&new.test.name).to_owned()).collect();
    let mut held = Vec::new();
    for file in files.iter().filter(|file| file.after.is_none()) {
        let is_source = file.before.as_ref().is_some_and(|before| before.kind == ObjectKind::File);
        let tests = file.text_before().map(|text| sources::tests(&file.path, text)).unwrap_or_default();
        if !is_source
            || !sources::may_hold_tests(&file.path)
            || (tests.is_empty() && !sources::is_test_file(&file.path))
        {
            continue;
        }
        let active: Vec<&SourceTest> = tests.iter().filter(is_active).collect();
        let mut gone: Vec<String> = Vec::new();
        for test in &active {
            match left.iter().position(|name| name == last(&test.name)) {
                Some(at) => drop(left.swap_remove(at)),
                None => gone.push(test.name.clone()),
            }
        }
        let is_moved = !active.is_empty() && gone.is_empty();
        if is_moved || is_helper(&file.path) {
            continue;
        }
        let what = match gone.as_slice() {
            [] => "removes a file of tests".to_owned(),
            [one] => format!("removes a file with the test `{one}`"),
            [first, ..] => format!("removes a file with {} tests, among them `{first}`", gone.len()),
        };
        held.push(finding(HeldKind::DeletedTest, &file.path, None, what, &gone.join("\n")));
    }
    held
}

/// Finds tests that a change skips: those that ran before, new ones that never run, and all others where only some do.
pub(super) fn skipped(files: &[&ChangedFile]) -> Vec<Held> {
    let old = before_all(files);
    let mut known: BTreeMap<&str, Vec<&SourceTest>> = BTreeMap::new();
    for placed in &old {
        known.entry(last(&placed.test.name)).or_default().push(&placed.test);
    }
    let mut held = Vec::new();
    for new in after(files) {
        let test = &new.test;
        let before = known.get(last(&test.name)).map(Vec::as_slice).unwrap_or_default();
        let same = before.iter().find(|old| old.name == test.name).or_else(|| before.first());
        if test.is_only && !same.is_some_and(|old| old.is_only) {
            let what = format!("lets only `{}` run, and no other test of its file", test.name);
            held.push(finding(
                HeldKind::SkippedTest,
                new.path,
                Some(test.line),
                what,
                &format!("only {}", test.name),
            ));
        }
        let what = match (same.map(|old| old.state), test.state) {
            (_, State::Active)
            | (Some(State::Skipped), _)
            | (Some(State::Conditional), State::Conditional) => continue,
            // A new test that needs something which is not there everywhere is skipped with good reason.
            (None, State::Conditional) => continue,
            (None, State::Skipped) => format!("adds the test `{}`, which is skipped", test.name),
            (Some(_), State::Conditional) => format!("skips the test `{}` under a condition", test.name),
            (Some(_), State::Skipped) => format!("skips the test `{}`", test.name),
        };
        held.push(finding(
            HeldKind::SkippedTest,
            new.path,
            Some(test.line),
            what,
            &format!("{:?} {}", test.state, test.name),
        ));
    }
    held
}

/// Takes tests out of both lists that are the same.
fn pair<'a>(
    gone: &mut Vec<LocatedTest<'a>>,
    new: &mut Vec<LocatedTest<'a>>,
    is_same: impl Fn(&LocatedTest<'_>, &LocatedTest<'_>) -> bool,
) {
    gone.retain(|old| match new.iter().position(|new| is_same(old, new)) {
        Some(at) => {
            new.swap_remove(at);
            false
        }
        None => true,
    });
}

fn is_renamed(old: &SourceTest, new: &SourceTest) -> bool {
    shared(&old.body, &new.body) >= SAME_LINES || shared(&words(&old.name), &words(&new.name)) >= SAME_WORDS
}

/// Returns how much two lists have in common, in parts of the longer one.
fn shared(one: &[String], other: &[String]) -> f64 {
    let mut left: Vec<&String> = other.iter().collect();
    let mut same = 0usize;
    for entry in one {
        if let Some(at) = left.iter().position(|known| *known == entry) {
            left.swap_remove(at);
            same += 1;
        }
    }
    match one.len().max(other.len()) {
        0 => 0.0,
        most => same as f64 / most as f64,
    }
}

/// Returns the words of a test's own name that say something.
fn words(name: &str) -> Vec<String> {
    let split = last(name).split(|letter: char| !letter.is_alphanumeric());
    let is_word =
        |word: &&str| !word.is_empty() && !["test", "should", "it", "a", "the", "is"].contains(word);
    split.map(|word| word.to_lowercase()).filter(|word| is_word(&word.as_str())).collect()
}

/// Returns a test's name without the groups that it is in.
fn last(name: &str) -> &str {
    let name = name.rsplit(" > ").next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}

/// Returns the tests that ran before.
fn before<'a>(files: &[&'a ChangedFile]) -> Vec<LocatedTest<'a>> {
    before_all(files).into_iter().filter(|placed| is_active(&&placed.test)).collect()
}

fn before_all<'a>(files: &[&'a ChangedFile]) -> Vec<LocatedTest<'a>> {
    let of = |file: &&'a ChangedFile| {
        let path = file.from.as_deref().unwrap_or(&file.path);
        placed(path, file.text_before())
    };
    files.iter().flat_map(of).collect()
}

fn after<'a>(files: &[&'a ChangedFile]) -> Vec<LocatedTest<'a>> {
    files.iter().flat_map(|file| placed(&file.path, file.text_after())).collect()
}

fn placed<'a>(path: &'a str, text: Option<&str>) -> Vec<LocatedTest<'a>> {
    let text = text.filter(|_| sources::may_hold_tests(path)).unwrap_or_default();
    sources::tests(path, text).into_iter().map(|test| LocatedTest { path, test }).collect()
}

fn new_path<'a>(files: &[&'a ChangedFile], path: &'a str) -> &'a str {
    files.iter().find(|file| file.from.as_deref() == Some(path)).map_or(path, |file| file.path.as_str())
}

fn is_active(test: &&SourceTest) -> bool {
    test.state != State::Skipped
}

/// Tells whether a file only helps tests: it has none, and they fail without it.
fn is_helper(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    ["conftest.py", "__init__.py", "mod.rs", "helpers.", "helper.", "support.", "utils.", "setup."]
        .iter()
        .any(|known| name == *known || (known.ends_with('.') && name.starts_with(known)))
}
