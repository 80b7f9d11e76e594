//! The scripts that are installed as git's hooks.

use std::path::Path;

/// By this line a script of ours is known.
pub(super) const MARK: &str =
    "# warp-hook 1: asks warp, then runs your own hook. `warp init --undo` takes it away.";
/// The environment variable that tells warp which hook of the user's comes next.
pub const USER_HOOK: &str = "WARP_USER_HOOK";

/// Hooks that warp answers.
pub(super) const OURS: [&str; 7] = [
    "reference-transaction",
    "pre-commit",
    "pre-merge-commit",
    "commit-msg",
    "pre-push",
    "pre-rebase",
    "post-checkout",
];

/// Hooks that git runs in a person's repository; each may be put there later by the tool whose directory is replaced.
pub(super) const CLIENT_SIDE: [&str; 16] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "reference-transaction",
];

/// Hooks whose mere presence changes what git does: passed on only if they are there.
pub(super) const OTHERS: [&str; 9] = [
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "push-to-checkout",
    "fsmonitor-watchman",
    "post-index-change",
    "p4-changelist",
];

/// Asks nobody while `git pack-refs` is at work: it moves nothing, and calls the hook twice for every ref there is.
///
/// The shell tells by itself, from the command line of the git that called it (`read` leaves out the bytes between the
/// words). A path that only looks like the command does not count. Where there is no `/proc`, warp is asked each time.
const UNLESS_PACKING: &str = r#"packs=; caller=
[ -r "/proc/$PPID/cmdline" ] && read -r caller <"/proc/$PPID/cmdline"
case $caller in
*pack-refs*/*) ;;
gitpack-refs | gitpack-refs--* | /*/gitpack-refs | /*/gitpack-refs--*) packs=yes ;;
esac
"#;

/// Writes the script of a hook. `user` is the user's own: a path, or a shell expression that gives one.
pub(super) fn render(name: &str, user: &str, warp: &Path) -> Option<String> {
    let warp = quote(warp.to_str()?);
    let (before, condition) = if name == "reference-transaction" {
        (UNLESS_PACKING, r#"[ -z "$packs" ] && [ -x "$warp" ]"#)
    } else {
        ("", r#"[ -x "$warp" ]"#)
    };
    let ask = if OURS.contains(&name) {
        format!(
            "warp={warp}\n{before}if {condition}; then\n  {USER_HOOK}=$user exec \"$warp\" git-hook {name} \"$@\"\nfi\n"
        )
    } else {
        String::new()
    };
    Some(format!(
        "#!/bin/sh\n{MARK}\nuser={user}\n{ask}if [ -x \"$user\" ] && [ ! -d \"$user\" ]; then exec \"$user\" \"$@\"; fi\nexit 0\n"
    ))
}

/// Returns the shell expression for a hook that lies beside the script.
pub(super) fn beside(name: &str) -> String {
    format!("${{0%/*}}/{name}.user")
}

/// Returns the shell expression for a hook in another directory.
pub(super) fn inside(directory: &str, name: &str) -> String {
    quote(&format!("{}/{name}", directory.trim_end_matches('/')))
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
