//! Commands of git that make, move or delete refs, and what else changes the repository.

use super::super::{
    Judgement,
    guard::readable,
    options::{Options, Spec},
    word::Field,
};
use super::{
    denied,
    rules::{LEAVE, risky},
};

pub(super) fn branch(arguments: &[Field]) -> Judgement {
    const SPEC: Spec = Spec {
        short: "u",
        attached: "",
        long: &["contains", "no-contains", "merged", "no-merged", "points-at", "sort", "format"],
    };
    let options = Options::read(arguments, &SPEC);
    if options.short("dDmMfC") || options.has_any(&["delete", "move", "force"]) {
        return denied("`git branch` like this", "deletes, renames or moves a branch", LEAVE);
    }
    let lists = options.short("lar")
        || options.is_any(&[
            "list",
            "all",
            "remotes",
            "contains",
            "no-contains",
            "merged",
            "no-merged",
            "points-at",
            "show-current",
        ]);
    let changes = options.short("cu")
        || options.has_any(&["copy", "set-upstream-to", "unset-upstream", "edit-description"]);
    if !changes && (lists || options.all_operands().next().is_none()) {
        return Judgement::Allowed;
    }
    risky("`git branch` makes or changes a branch")
}

pub(super) fn tag(arguments: &[Field]) -> Judgement {
    let options =
        Options::read(arguments, &Spec { short: "mFu", attached: "n", long: &["message", "file", "sort"] });
    if options.short("df") || options.has_any(&["delete", "force"]) {
        return denied("`git tag` like this", "deletes or moves a tag", LEAVE);
    }
    let lists = options.short("lnv")
        || options.is_any(&["list", "contains", "no-contains", "merged", "no-merged", "points-at", "verify"]);
    if lists || options.all_operands().next().is_none() {
        return Judgement::Allowed;
    }
    risky("`git tag` makes a tag")
}

pub(super) fn fetch(arguments: &[Field]) -> Judgement {
    const SPEC: Spec =
        Spec { short: "jo", attached: "", long: &["depth", "deepen", "jobs", "filter", "server-option"] };
    let options = Options::read(arguments, &SPEC);
    let refused = |why: &str| denied("`git fetch` like this", why, "use plain `git fetch`");
    if options.short("pPfu")
        || options.has_any(&[
            "prune",
            "prune-tags",
            "force",
            "update-head-ok",
            "upload-pack",
            "refmap",
            "stdin",
        ])
    {
        return refused("deletes or moves refs, or runs another program");
    }
    let moves = |text: &&str| {
        let target = text.split_once(':').map(|(_, target)| target).unwrap_or_default();
        !(target.is_empty() || target.starts_with("refs/remotes/"))
    };
    if options.operands.iter().skip(1).any(moves) {
        return refused("moves a branch");
    }
    if options.all_operands().any(|text| text.starts_with("ext::")) {
        return refused("runs another program");
    }
    if options.unknown {
        risky("`git fetch` is given arguments that are only known once it runs")
    } else {
        Judgement::Allowed
    }
}

/// Commands whose first argument says what they do.
pub(super) fn with_verb(command: &str, arguments: &[Field]) -> Judgement {
    let verb = arguments
        .iter()
        .map(|field| field.text.as_str())
        .find(|text| !text.starts_with('-'))
        .unwrap_or_default();
    let options = Options::read(arguments, &Spec::default());
    let force = options.short("f") || options.has("force");
    let refuse = |why: &str| denied(&format!("`git {command} {}`", readable(verb)), why, LEAVE);
    let prunes = options.short("p") || options.has("prune");
    match (command, verb) {
        ("remote", "" | "show" | "get-url") => Judgement::Allowed,
        ("remote", "update") if !prunes => Judgement::Allowed,
        ("remote", _) => refuse("changes remotes or deletes refs"),
        ("worktree", "" | "list") => Judgement::Allowed,
        ("worktree", "remove" | "add" | "move") if force || options.short("B") => refuse("throws work away"),
        ("worktree", "prune") => refuse("removes what is known of other worktrees"),
        ("reflog", "expire" | "delete" | "drop" | "write") => refuse("deletes what keeps commits reachable"),
        ("reflog", _) => Judgement::Allowed,
        ("notes", "" | "list" | "show" | "get-ref") => Judgement::Allowed,
        ("notes", _) => refuse("moves refs past the checks"),
        ("submodule", "" | "status" | "summary") => Judgement::Allowed,
        ("submodule", _) if force => refuse("throws work away"),
        ("bisect", "log" | "view" | "visualize" | "terms" | "help") => Judgement::Allowed,
        ("sparse-checkout", "list" | "check-rules") => Judgement::Allowed,
        ("refs", "" | "list" | "exists" | "verify") => Judgement::Allowed,
        ("refs", _) => refuse("moves refs past the checks"),
        ("lfs", "push" | "migrate" | "prune") => refuse("pushes, rewrites or deletes"),
        ("lfs", "install" | "uninstall" | "update") => refuse("replaces git's hooks"),
        ("lfs", "ls-files" | "status" | "env" | "version" | "logs") => Judgement::Allowed,
        _ => Judgement::Risky(format!(
            "`git {command} {}` changes the working tree or its settings",
            readable(verb)
        )),
    }
}

/// Commands that are seldom used by hand.
pub(super) fn plumbing(command: &str, arguments: &[Field]) -> Judgement {
    let options = Options::read(arguments, &Spec::default());
    let refuse = |why: &str| denied(&format!("`git {command}` like this"), why, LEAVE);
    let operands = options.all_operands().count();
    let force = options.short("f") || options.has("force");
    match command {
        "symbolic-ref" if operands > 1 || options.short("dm") || options.has("delete") => {
            refuse("moves HEAD")
        }
        "replace" if operands > 0 && !options.short("l") && !options.is("list") => refuse("rewrites history"),
        "gc" if options.has("prune") => refuse("deletes what nothing else holds"),
        "prune" if !options.short("n") => refuse("deletes what nothing else holds"),
        "repack" if options.short("d") || options.has("delete") => refuse("deletes what nothing else holds"),
        "read-tree" if options.short("mu") || options.has("reset") => refuse("overwrites the working tree"),
        "checkout-index" if force => refuse("overwrites the working tree"),
        "init" if options.has_any(&["separate-git-dir", "template"]) => {
            refuse("moves the repository or replaces its hooks")
        }
        "clone" if options.short("uc") || options.has_any(&["upload-pack", "config", "template"]) => {
            refuse("changes what git runs")
        }
        "symbolic-ref" | "replace" | "prune" => Judgement::Allowed,
        "update-index" if options.is_any(&["refresh", "really-refresh"]) => Judgement::Allowed,
        "apply" if options.is_any(&["check", "stat", "numstat", "summary"]) => Judgement::Allowed,
        _ => Judgement::Risky(format!("`git {command}` changes the repository or the working tree")),
    }
}
