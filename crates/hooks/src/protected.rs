//! Files that no agent may write: what it is told by, what it is judged by, and what judges it.

use std::{
    env, fs,
    path::{Component, Path, PathBuf},
};

use adapters::{git, sandbox::View};
use project::Dirs;

use shell::Protected;

use crate::HookContext;

/// Files and directories of a workspace, relative to its root, and what to do instead of writing them.
const IN_WORKSPACE: &[(&str, &str)] = &[
    (".claude/.warp-drive-state.json", STATE),
    (".claude/.warp-drive-state.json.new", STATE),
    (".claude/autonomous-loop.json", STATE),
    (".claude/autonomous-loop.json.new", STATE),
    (".claude/settings.json", SETTINGS),
    (".claude/settings.local.json", SETTINGS),
    (".codex/hooks.json", SETTINGS),
    (".codex/config.toml", SETTINGS),
    (".warp/workflows", "a person changes workflows, between runs"),
    (".warp/local", "warp keeps its own records there"),
    (".git", "use git itself"),
];

/// Files of the person's home.
const IN_HOME: &[(&str, &str)] = &[
    (".claude/settings.json", SETTINGS),
    (".claude/settings.local.json", SETTINGS),
    (".codex/hooks.json", SETTINGS),
    (".codex/config.toml", SETTINGS),
];

const STATE: &str = "it only shows the run; `warp state transition . EVENT` or `warp next` move the run";
const SETTINGS: &str = "a person changes the agent's settings, with `warp init` or by hand";

/// Returns everything that is protected for an agent in the workspace at `root`.
pub(crate) fn of(root: &Path) -> Vec<Protected> {
    let home = env::home_dir();
    let below = |base: &Path, list: &[(&str, &str)]| -> Vec<Protected> {
        let entry = |(path, instead): &(&str, &str)| Protected {
            path: base.join(path),
            instead: (*instead).to_owned(),
        };
        list.iter().map(entry).collect()
    };
    let mut all = below(root, IN_WORKSPACE);
    if let Some(home) = &home {
        all.extend(below(home, IN_HOME));
    }
    if let Ok(dirs) = Dirs::from_environment() {
        let instead = "warp keeps its journal and settings there".to_owned();
        let paths = all_but_workspace(&dirs.state, root).into_iter().chain([dirs.config]);
        all.extend(paths.map(|path| Protected { path, instead: instead.clone() }));
    }
    if let Some(location) = git::locate(root) {
        let instead = "use git itself".to_owned();
        all.push(Protected { path: location.common_dir, instead: instead.clone() });
        all.push(Protected { path: location.git_dir, instead });
    }
    all
}

/// Returns the paths to protect so that everything in a directory is covered but the workspace.
fn all_but_workspace(directory: &Path, root: &Path) -> Vec<PathBuf> {
    let real = resolve(directory);
    if !root.starts_with(&real) || root == real {
        return vec![directory.to_owned()];
    }
    let above = root.ancestors().skip(1).take_while(|path| path.starts_with(&real));
    let entries = above.filter_map(|path| fs::read_dir(path).ok()).flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| !root.starts_with(path)).collect()
}

/// Returns what is protected, by the paths that an agent calls it by.
pub(crate) fn seen(root: &Path, view: &View) -> Vec<Protected> {
    let seen = |entry: Protected| Protected { path: view.inside(&entry.path), instead: entry.instead };
    of(root).into_iter().map(seen).collect()
}

/// Tells why a file that an agent names may not be written, if it may not.
pub(crate) fn refused(here: &HookContext, protected: &[Protected], path: &Path) -> Option<String> {
    let outside = here.outside(path);
    // A link may lead to the project's own path, which is the workspace inside.
    let led = here.view.outside(&resolve(&tidy(&outside)));
    let why = refuses(protected, &here.cwd, &outside).or_else(|| refuses(protected, &here.cwd, &led));
    // The agent is told of the file as it has named it.
    why.map(|instead| format!("`{}` is not for an agent to write: {instead}", path.display()))
}

/// Tells what to do instead of writing a file that may not be written: by its name as given, and by where links lead.
fn refuses(protected: &[Protected], cwd: &Path, path: &Path) -> Option<String> {
    let named = tidy(&cwd.join(path));
    let real = resolve(&named);
    let hit = protected.iter().find(|entry| {
        named.starts_with(&entry.path)
            || real.starts_with(&entry.path)
            || real.starts_with(resolve(&entry.path))
    })?;
    Some(hit.instead.clone())
}

/// Takes `.` and `..` out of a path, by its text.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => tidy.push(part),
        }
    }
    tidy
}

/// Follows the links of the part of a path that exists.
fn resolve(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            return match path.strip_prefix(ancestor) {
                Ok(rest) => real.join(rest),
                Err(_) => real,
            };
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_inside_what_is_protected_can_be_written_and_nothing_beside_it() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path().canonicalize().unwrap();
        let root = state.join("projects/id/slots/1/tree");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(state.join("projects/id/slots/1/git")).unwrap();
        fs::create_dir_all(state.join("projects/id/slots/2/tree")).unwrap();
        fs::write(state.join("projects/id/journal.db"), "").unwrap();
        let entry = |path| Protected { path, instead: String::new() };
        let protected: Vec<Protected> = all_but_workspace(&state, &root).into_iter().map(entry).collect();
        assert_eq!(refuses(&protected, &root, Path::new("src/a.rs")), None);
        for path in ["../git/config", "../../2/tree/a.rs", "../../../journal.db"] {
            assert!(refuses(&protected, &root, Path::new(path)).is_some(), "{path}");
        }
    }

    #[test]
    fn names_detours_and_links_lead_to_the_same_refusal() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::create_dir_all(root.join(".claude")).unwrap();
        fs::create_dir_all(root.join("src")).unwrap();
        std::os::unix::fs::symlink(root.join(".claude"), root.join("link")).unwrap();
        let protected = of(root);
        let state = ".claude/.warp-drive-state.json";
        for path in [
            state,
            "src/../.claude/settings.json",
            "link/settings.local.json",
            ".git/config",
            ".warp/local/x",
        ] {
            assert!(refuses(&protected, root, Path::new(path)).is_some(), "{path}");
            assert!(refuses(&protected, Path::new("/"), &root.join(path)).is_some(), "{path}");
        }
        for path in ["src/a.rs", ".claude/skills/x/SKILL.md", ".warp/prompts/x.md", ".gitignore", "warp.toml"]
        {
            assert_eq!(refuses(&protected, root, Path::new(path)), None, "{path}");
        }
        assert!(refuses(&protected, &root.join("src"), Path::new("../.git/HEAD")).is_some());
    }
}
