//! Commands of git that change the working tree: what is not committed must not be lost.

use super::super::{
    Judgement,
    options::{Options, Spec},
    parse::{GLOB, UNKNOWN},
    word::Field,
};
use super::{
    denied,
    rules::{UNDO, risky},
};

pub(super) fn reset(arguments: &[Field]) -> Judgement {
    let options = Options::read(arguments, &Spec::default());
    if options.has_any(&["hard", "merge", "keep"]) {
        return denied("`git reset` with that option", "throws work away that is not committed", UNDO);
    }
    let is_head = |text: &str| matches!(text, "HEAD" | "@");
    let has_paths = options.after_dashes.as_ref().is_some_and(|paths| !paths.is_empty());
    match options.operands.as_slice() {
        _ if options.unknown => {}
        [] => return Judgement::Allowed,
        [first, ..] if is_head(first) => return Judgement::Allowed,
        [_] if has_paths => return Judgement::Allowed,
        // `:/text` is a commit here; a branch may have a name like a file's.
        all if all.iter().all(|text| is_path(text) && !text.starts_with(":/")) => {
            return risky("`git reset` unstages files, or moves the branch if they are the names of commits");
        }
        _ => {}
    }
    denied("`git reset` to another commit", "moves the branch", "unstage with `git reset -- PATH`")
}

pub(super) fn clean(arguments: &[Field]) -> Judgement {
    let options = Options::read(arguments, &Spec { short: "e", attached: "", long: &["exclude"] });
    if options.short("n") || options.is("dry-run") {
        return Judgement::Allowed;
    }
    denied("`git clean`", "removes files that nothing else holds", "remove the files one by one, by name")
}

/// Whether an argument is plainly a file and not a branch.
fn is_path(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && !stem.ends_with(|last: char| last.is_ascii_digit())
            && (1..=5).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    text == "."
        || text.starts_with(['.', '/', ':'])
        || text.ends_with('/')
        || text.contains(GLOB)
        || has_extension
}

pub(super) fn checkout(arguments: &[Field]) -> Judgement {
    const SPEC: Spec = Spec { short: "bB", attached: "", long: &["orphan", "conflict"] };
    let options = Options::read(arguments, &SPEC);
    let refused = |why: &str| denied("`git checkout` like this", why, UNDO);
    if options.short("fBp") || options.has_any(&["force", "ours", "theirs", "patch", "pathspec-from-file"]) {
        return refused("throws work away or moves a branch");
    }
    let creates = options.short("b") || options.is_any(&["orphan", "detach", "track"]) || options.short("dt");
    let paths = options.after_dashes.iter().flatten().count();
    match options.operands.as_slice() {
        _ if paths > 0 => refused("overwrites files that may hold work"),
        [] if !creates => Judgement::Allowed,
        [_, _, ..] if !creates => refused("overwrites files that may hold work"),
        [only] if is_path(only) && !creates => refused("overwrites files that may hold work"),
        _ => risky("`git checkout` switches branches"),
    }
}

pub(super) fn switch(arguments: &[Field]) -> Judgement {
    let options = Options::read(arguments, &Spec { short: "cC", attached: "", long: &["create", "orphan"] });
    if options.short("fC") || options.has_any(&["force", "discard-changes", "force-create"]) {
        return denied("`git switch` like this", "throws work away or moves a branch", UNDO);
    }
    risky("`git switch` switches branches")
}

pub(super) fn restore(arguments: &[Field]) -> Judgement {
    let options = Options::read(arguments, &Spec { short: "s", attached: "", long: &["source"] });
    let staged = options.short("S") || options.is("staged");
    let worktree = options.short("Wp") || options.has_any(&["worktree", "patch"]);
    if (staged && !worktree && !options.unknown) || options.is_empty() {
        return Judgement::Allowed;
    }
    denied(
        "`git restore` of the working tree",
        "throws work away",
        "use `git restore --staged`, or edit the files back",
    )
}

pub(super) fn remove(arguments: &[Field]) -> Judgement {
    let options = Options::read(arguments, &Spec::default());
    if options.short("f") || options.has("force") {
        return denied(
            "`git rm -f`",
            "removes files with changes that are not committed",
            "commit or undo those first",
        );
    }
    if options.is_any(&["cached", "dry-run"]) || options.short("n") {
        return Judgement::Allowed;
    }
    risky("`git rm` removes files")
}

pub(super) fn stash(arguments: &[Field]) -> Judgement {
    match arguments.first().map(|field| field.text.as_str()) {
        Some("list" | "show" | "create") => Judgement::Allowed,
        Some(verb @ ("drop" | "clear")) => {
            denied(&format!("`git stash {verb}`"), "throws work away", "leave the stash as it is")
        }
        Some(text) if text.contains(UNKNOWN) => {
            denied("`git stash` here", "cannot be read before it runs", "write its command out")
        }
        Some(_) | None => risky("`git stash` takes work out of the tree or puts it back"),
    }
}
