//! What a shell command would do to refs, to work that is not committed and to protected files.
//!
//! A command is cut into words twice, parsed by a bash grammar, and walked as the shell would run it: variables,
//! functions, substitutions, here-documents, `eval`, `sh -c` and their like are followed as far as their text is
//! known. Every branch counts as taken, and the worst of all parts is the answer. What is not known is never
//! taken for harmless.
//!
//! Reading cannot see what a script, a test or an interpreter does. Those are [`Judgement::Risky`]: git's own
//! hooks and a comparison of refs afterwards stand behind this gate, and a snapshot before it.
//!
//! | what | judgement |
//! |---|---|
//! | git that reads: `log`, `diff`, `show`, `status`, `blame`, `grep`, `ls-*`, `rev-parse`, `reflog`, lists of branches, tags, stashes, remotes, worktrees, settings | allowed |
//! | `git add`, `fetch` without `--prune` or a refspec that moves a branch, `reset` and `restore --staged` that only unstage, `rm --cached`, `mv`, dry runs, `--help` | allowed |
//! | `git commit` | commit |
//! | `commit --amend`, `--no-verify`, `-n` | denied |
//! | `push`, `send-pack`, `lfs push`, `remote-https` and their like, in any form | denied |
//! | `merge`, `pull`, `cherry-pick`, `revert`, `am`, `subtree`, `svn` | denied |
//! | `rebase`, `filter-branch`, `filter-repo`, `replace`, `fast-import`, `commit-tree`, `history`, `replay` | denied |
//! | `update-ref`, writing `symbolic-ref`, `refs` that changes one, `branch -d -D -m -M -f -C`, `tag -d -f`, `remote` that changes one, `fetch --prune`, `notes` that write, `reflog expire`, `gc --prune`, `prune`, `repack -d` | denied |
//! | `reset --hard`, `--merge`, `--keep` or to another commit; `clean`; `checkout` of paths, with `-f` or `-B`; `switch -f`, `-C`; `restore` of the working tree; `stash drop`, `clear`; `rm -f`; `worktree remove -f`, `prune` | denied |
//! | `reset FILE` without `--`, `switch`, `checkout` of or to a new branch, `branch NAME`, `tag NAME`, `stash` that puts away or takes out, `rm`, `apply`, `worktree add`, `gc`, `bisect`, `submodule`, `init`, `clone`, a command that git does not have (it may be an alias) | risky |
//! | `git config` and `-c` with a setting that is known to be harmless | allowed |
//! | any other setting; `--exec-path`, `--config-env`, `GIT_CONFIG_*`, `GIT_SSH_COMMAND` and their like; `lfs install`, `husky`, `pre-commit install` | denied |
//! | `--git-dir`, `--work-tree`, `GIT_DIR`, `GIT_INDEX_FILE` and their like, for anything but reading, unless plainly in another repository | denied |
//! | any of these in another repository (outside the project, or made by the command): that is its own business | risky; a push only if the command has made both repositories |
//! | `gh pr merge`, `pr review --approve`, `repo delete`, `release`, `alias set`; writing to refs, merges, contents by `gh api` or `curl` | denied |
//! | `warp status`, `log`, `explain`, `config` and `doctor` that only show, `workflow`, `mcp`, `next`, `state status\|transition\|inject\|gate\|verify`, `--help` | allowed |
//! | any other `warp` command, the event `abort`, stopping warp by `pkill` or `systemctl` | denied |
//! | writing, linking, moving or removing a protected file or anything in a `.git`, by redirection or by any known program | denied |
//! | removing recursively what may turn out to be the project's root or its `.git` | denied |
//! | writing, removing or moving other files of the workspace; writing to a file whose name is not known | risky |
//! | interpreters, scripts, compilers, `make`, `cargo`, `npm`, tests, programs that are not known, names that are put together; variables that programs are given and that are not known | risky; denied if they plainly do what is denied |
//! | programs that are known to read, without an option that runs or writes something: `ls`, `grep`, `sort`, … | allowed |
//! | over 32 KiB (without here-documents), nested more than twelve deep, not to be parsed, to be read in two ways, too much to be followed | denied |
//!
//! Paths are compared by their text: the caller resolves links. Nothing here opens a file, starts a process or reads the
//! environment; what the judge needs to know of the machine is in the [`Scene`].

mod archives;
mod braces;
mod builtins;
mod call;
mod compound;
mod environment;
mod files;
mod filters;
mod forge;
mod git;
mod guard;
mod harmless;
mod interpreters;
mod lexer;
mod options;
mod parameter;
mod parse;
mod patch;
mod paths;
mod programs;
mod recipes;
mod removal;
mod scan;
mod sed;
mod shells;
mod simple;
mod spawners;
mod state;
mod walk;
mod warp;
mod word;
mod wrappers;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

pub use patch::{PATCHES, patched, perhaps_patched};

/// Where a command is run, and what it must not write.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The workspace's root.
    pub root: &'a Path,
    /// The directory that the command starts in.
    pub cwd: &'a Path,
    /// What `~` stands for, if known.
    pub home: Option<&'a Path>,
    pub protected: &'a [Protected],
    /// Returns what tells the repository that a directory is in from others, if it is in one.
    pub repository: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

/// A file that no agent may write, or a directory below which none may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    /// Absolute, or relative to the workspace's root.
    pub path: PathBuf,
    /// What to do instead, as the end of a sentence: "`warp state transition` changes it".
    pub instead: String,
}

/// What is to be done about a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    Allowed,
    /// Allowed, but not fully known: the caller takes a snapshot first. Says what is not known.
    Risky(String),
    /// Moves HEAD by an ordinary commit: the caller asks for leave.
    Commit,
    /// Refused in every phase. Says why, and what to do instead.
    Denied(String),
}

impl Judgement {
    /// Orders judgements: of all parts of a command, the one with the highest rank counts.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Allowed => 0,
            Self::Risky(_) => 1,
            Self::Commit => 2,
            Self::Denied(_) => 3,
        }
    }
}

/// Judges a command by reading it. Never panics, looks at nothing but what the scene tells, and takes a bounded time.
#[must_use = "a judgement that is dropped stops nothing"]
pub fn judge(command: &str, scene: &Scene<'_>) -> Judgement {
    if command.contains([parse::UNKNOWN, parse::GLOB]) {
        return Judgement::Denied("contains control characters: write the command without them".to_owned());
    }
    if let Some(reason) = removal::by_dot_glob(command) {
        return Judgement::Denied(reason);
    }
    let judged = catch_unwind(AssertUnwindSafe(|| {
        let mut walker = walk::Walker::new(scene);
        walker.run(command, &mut state::State::new(scene), &parse::UNKNOWN.to_string());
        walker.verdict()
    }));
    judged.unwrap_or_else(|_| Judgement::Denied(GAVE_UP.to_owned()))
}

/// Says that something is refused: what it is, why, and what to do instead.
fn denied(what: &str, why: &str, instead: &str) -> Judgement {
    Judgement::Denied(format!("{what} {why}: {instead}"))
}

/// The answer to a command at which the judge itself fails.
const GAVE_UP: &str = "could not be read as a shell command: the judge gave up on it; split it up";
