//! Git's settings: which may be set by an agent, and how `git config` is read.
//!
//! Many settings name programs, hooks or other files of settings, and new versions add more. So what is known
//! to be harmless is allowed, and everything else is refused.

use super::super::{
    Judgement,
    options::{Options, Spec},
    programs::is_one_of,
    word::Field,
};
use super::denied;

/// Whether a program that git runs to show or edit text is one that does nothing else.
pub(crate) fn is_harmless_program(value: &str) -> bool {
    let mut words = value.split_whitespace();
    let program = words.next().unwrap_or_default();
    let plain = |word: &str| word.starts_with('-') || word.is_empty();
    matches!(
        program,
        "" | "cat" | "true" | ":" | "false" | "less" | "more" | "/bin/cat" | "/bin/true" | "/usr/bin/true"
    ) && words.all(plain)
}

/// Judges a setting made for one command (`-c`) or kept (`git config`).
pub(super) fn setting(key: &str, value: &str) -> Judgement {
    let key = key.to_ascii_lowercase();
    let harmless = match key.as_str() {
        "core.pager" | "core.editor" | "sequence.editor" => is_harmless_program(value),
        _ if key.starts_with("pager.") => {
            is_harmless_program(value) || matches!(value, "on" | "off" | "yes" | "no" | "0" | "1")
        }
        _ => is_harmless(&key),
    };
    if harmless {
        return Judgement::Allowed;
    }
    denied(&format!("the setting `{key}`"), "can change what git runs, reads or keeps", "work without it")
}

fn is_harmless(key: &str) -> bool {
    let group = GROUPS.split_ascii_whitespace().any(|group| key.starts_with(group));
    group || is_one_of(KEYS, key)
}

/// Settings that are harmless whatever follows.
const GROUPS: &str = "\
    advice. blame. color. column. format. grep. help.format i18n. index. log. pack. showbranch. status. \
    tag.sort branch.sort versionsort.";

/// Settings that are harmless.
const KEYS: &str = "\
    user.name user.email author.name author.email committer.name committer.email core.quotepath \
    core.autocrlf core.eol core.safecrlf core.abbrev core.longpaths core.preloadindex core.commentchar \
    core.precomposeunicode core.compression core.whitespace core.untrackedcache commit.gpgsign \
    commit.verbose commit.cleanup commit.status tag.gpgsign diff.noprefix diff.mnemonicprefix diff.renames \
    diff.renamelimit diff.algorithm diff.context diff.interhunkcontext diff.colormoved diff.colormovedws \
    diff.wserrorhighlight diff.submodule diff.ignoresubmodules diff.statgraphwidth diff.suppressblankempty \
    diff.indentheuristic diff.wordregex merge.conflictstyle merge.renames merge.renamelimit \
    init.defaultbranch protocol.version safe.directory gc.auto fetch.parallel stash.showpatch \
    stash.showstat submodule.fetchjobs http.postbuffer feature.manyfiles";

const SPEC: Spec =
    Spec { short: "ft", attached: "", long: &["file", "blob", "type", "default", "comment", "value", "url"] };

/// Judges `git config`.
pub(super) fn config(arguments: &[Field]) -> Judgement {
    let options = Options::read(arguments, &SPEC);
    let operands: Vec<&str> = options.all_operands().collect();
    let refused = |why: &str| denied("`git config` here", why, "leave the settings as they are");
    if options.short("e") || options.has_any(&["edit", "rename-section", "remove-section"]) {
        return refused("can change any setting");
    }
    let reads = options.short("l")
        || options.is_any(&[
            "list",
            "get",
            "get-all",
            "get-regexp",
            "get-urlmatch",
            "get-color",
            "get-colorbool",
        ]);
    if options.unknown && !reads {
        return refused("cannot be read before it runs");
    }
    let (verb, rest) = match operands.as_slice() {
        [
            verb @ ("get" | "list" | "set" | "unset" | "edit" | "rename-section" | "remove-section"),
            rest @ ..,
        ] => (*verb, rest),
        operands => ("", operands),
    };
    let writes = options.has_any(&["add", "replace-all", "unset", "unset-all"]);
    match (verb, rest) {
        ("get" | "list", _) => Judgement::Allowed,
        ("edit" | "rename-section" | "remove-section", _) => refused("can change any setting"),
        ("", _) if reads => Judgement::Allowed,
        ("", [] | [_]) if !writes => Judgement::Allowed,
        _ if options.has_any(&["global", "system", "worktree", "file"]) || options.short("f") => {
            refused("changes settings beyond this project")
        }
        (_, [key, value, ..]) => setting(key, value),
        (_, [key]) => setting(key, ""),
        (_, []) => Judgement::Allowed,
    }
}
