//! What the judge of shell commands says, about harmless ones and about every way round it.

mod bypass;
mod carriers;
#[path = "../corpus/mod.rs"]
mod corpus;
mod elsewhere;
mod everyday;
mod files;
mod git;
mod harmless;
mod limits;
mod properties;
mod reading;

use std::path::{Path, PathBuf};

use shell::{Judgement, Protected, Scene, judge};

/// Judges a command in a project at `/srv/project`, which an agent of `/home/dev` works on.
pub(crate) fn judged(command: &str) -> Judgement {
    judged_in("/srv/project", command)
}

pub(crate) fn judged_in(cwd: &str, command: &str) -> Judgement {
    let protect = |path: &str, instead: &str| Protected { path: path.into(), instead: instead.to_owned() };
    let protected = [
        protect(".claude/.warp-drive-state.json", "`warp state transition` changes it"),
        protect(".claude/settings.json", "ask a person"),
        protect(".warp", "ask a person"),
        protect("warp.toml", "ask a person"),
        protect("/home/dev/.local/share/warp", "`warp log` shows what is in it"),
    ];
    let scene = Scene {
        root: Path::new("/srv/project"),
        cwd: Path::new(cwd),
        home: Some(Path::new("/home/dev")),
        protected: &protected,
        repository: &repository,
    };
    judge(command, &scene)
}

/// Tells repositories apart: the project has another working tree, and another repository in it.
fn repository(path: &Path) -> Option<PathBuf> {
    let known = ["/srv/project/tests/nested", "/srv/project", "/srv/second", "/srv/remote.git"]
        .iter()
        .find(|known| path.starts_with(known))?;
    Some(PathBuf::from(if known.ends_with("nested") { known } else { "/srv/project" }))
}

/// Says a judgement in one word.
pub(crate) fn word(judgement: &Judgement) -> &'static str {
    match judgement {
        Judgement::Allowed => "allowed",
        Judgement::Risky(_) => "risky",
        Judgement::Commit => "commit",
        Judgement::Denied(_) => "denied",
    }
}

/// Asserts what is said about each of some commands.
#[track_caller]
pub(crate) fn all(expected: &str, commands: &[&str]) {
    for command in commands {
        let judgement = judged(command);
        assert_eq!(word(&judgement), expected, "{command}: {judgement:?}");
    }
}

/// Returns the reason that is given for a command.
pub(crate) fn reason(command: &str) -> String {
    match judged(command) {
        Judgement::Denied(reason) | Judgement::Risky(reason) => reason,
        Judgement::Allowed | Judgement::Commit => String::new(),
    }
}
