//! One rule per command of git: what it does to refs, to history and to work that is not committed.

use super::super::{
    Judgement,
    guard::readable,
    options::{Options, Spec},
    programs::is_one_of,
    word::Field,
};
use super::{config, denied, refs, work};

/// Commands that only read, or only add to the index or the objects.
const READS: &str = "\
    add annotate archive blame cat-file check-attr check-ignore check-mailmap check-ref-format cherry \
    column count-objects describe diff diff-files diff-index diff-tree for-each-ref format-patch fsck \
    get-tar-commit-id grep hash-object help interpret-trailers last-modified log ls-files ls-remote \
    ls-tree merge-base merge-tree name-rev patch-id range-diff repo rev-list rev-parse shortlog \
    show show-branch show-index show-ref stage status stripspace unpack-file var verify-commit verify-pack \
    verify-tag version whatchanged";

pub(super) const UNDO: &str = "edit the files back, or ask a person";
const NEW_COMMIT: &str = "make a new commit instead";
pub(super) const LEAVE: &str = "leave it to a person";

/// Judges a command of git and its arguments.
pub(super) fn judge(command: &str, arguments: &[Field]) -> Judgement {
    let shown = format!("`git {}`", readable(command));
    let refuse = |why: &str, instead: &str| denied(&shown, why, instead);
    if is_one_of(READS, command) {
        return read(command, arguments);
    }
    match command {
        "commit" => commit(arguments),
        _ if is_one_of("push send-pack http-push receive-pack", command)
            || command.starts_with("remote-") =>
        {
            refuse("is not an agent's to run", "report the phase as done, and the branch is pushed for you")
        }
        "merge" | "cherry-pick" | "revert" | "am" | "pull" | "subtree" | "octopus" | "quiltimport"
        | "svn" | "p4" | "archimport" | "cvsimport" => refuse(
            "brings commits in, which an agent does not do",
            "describe what is needed and let the engine do it",
        ),
        "rebase" | "filter-branch" | "filter-repo" | "commit-tree" | "fast-import" | "history" | "replay" => {
            refuse("rewrites history or makes commits past the checks", NEW_COMMIT)
        }
        "update-ref" | "for-each-repo" => refuse("moves refs past the checks", LEAVE),
        "citool" | "gui" => refuse("is for people", "use `git commit`"),
        "reset" => work::reset(arguments),
        "clean" => work::clean(arguments),
        "checkout" => work::checkout(arguments),
        "switch" => work::switch(arguments),
        "restore" => work::restore(arguments),
        "rm" => work::remove(arguments),
        "mv" => forced(arguments, "f", &["force"], "overwrites files", Judgement::Allowed, "mv"),
        "stash" => work::stash(arguments),
        "branch" => refs::branch(arguments),
        "tag" => refs::tag(arguments),
        "fetch" => refs::fetch(arguments),
        "config" => config::config(arguments),
        "remote" | "worktree" | "reflog" | "notes" | "submodule" | "bisect" | "sparse-checkout" | "lfs"
        | "refs" => refs::with_verb(command, arguments),
        "symbolic-ref" | "replace" | "gc" | "prune" | "repack" | "read-tree" | "checkout-index"
        | "update-index" | "apply" | "init" | "clone" => refs::plumbing(command, arguments),
        _ => Judgement::Risky(format!("{shown} is not a command that is known here; it may be an alias")),
    }
}

pub(super) fn risky(why: &str) -> Judgement {
    Judgement::Risky(why.to_owned())
}

/// Refuses a command with one of the given options.
fn forced(
    arguments: &[Field],
    short: &str,
    long: &[&str],
    why: &str,
    otherwise: Judgement,
    command: &str,
) -> Judgement {
    let options = Options::read(arguments, &Spec::default());
    if options.short(short) || options.has_any(long) {
        return denied(&format!("`git {command}` with that option"), why, UNDO);
    }
    otherwise
}

/// Commands that read, unless they are told to run a program.
fn read(command: &str, arguments: &[Field]) -> Judgement {
    let runs = |text: &str| {
        let option = text.split_once('=').map_or(text, |(option, _)| option);
        ["--upload-pack", "--exec", "--open-files-in-pager"]
            .iter()
            .any(|name| option.len() > 4 && name.starts_with(option))
            || text.starts_with("ext::")
    };
    let options = Options::read(arguments, &spec_of(command));
    let opens = command == "grep" && (options.short("O") || options.has("open-files-in-pager"));
    if opens || arguments.iter().any(|field| runs(&field.text)) {
        return denied(&format!("`git {command}` with that option"), "runs another program", "leave it out");
    }
    if options.unknown {
        return Judgement::Risky(format!(
            "`git {command}` is given options that are only known once it runs"
        ));
    }
    Judgement::Allowed
}

/// Returns which options of a command that reads take a value: a letter in a value is no option.
fn spec_of(command: &str) -> Spec {
    match command {
        "grep" => Spec {
            short: "efmABC",
            attached: "O",
            long: &["max-depth", "max-count", "threads", "after-context", "before-context", "context"],
        },
        "log" | "show" | "shortlog" | "rev-list" | "whatchanged" => Spec {
            short: "nSGLO",
            attached: "",
            long: &["format", "author", "grep", "since", "until", "max-count"],
        },
        "diff" | "diff-tree" | "diff-index" | "diff-files" | "format-patch" => {
            Spec { short: "SGOo", attached: "", long: &["output", "output-directory"] }
        }
        "blame" | "annotate" => Spec { short: "LSMC", attached: "", long: &["contents", "ignore-rev"] },
        _ => Spec::default(),
    }
}

fn commit(arguments: &[Field]) -> Judgement {
    const SPEC: Spec = Spec {
        short: "mFCct",
        attached: "uS",
        long: &[
            "message",
            "file",
            "reuse-message",
            "reedit-message",
            "squash",
            "author",
            "date",
            "template",
            "trailer",
        ],
    };
    let options = Options::read(arguments, &SPEC);
    if options.short("n") || options.has("no-verify") {
        return denied(
            "`git commit` without its checks",
            "is refused",
            "commit with them and fix what they find",
        );
    }
    if options.has("amend") {
        return denied("`git commit --amend`", "rewrites history", NEW_COMMIT);
    }
    if options.unknown {
        return denied("`git commit` here", "cannot be read before it runs", "write its options out");
    }
    if options.is("dry-run") { Judgement::Allowed } else { Judgement::Commit }
}
