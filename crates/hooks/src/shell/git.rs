//! Git: its own options, then one rule per command.
//!
//! [`judge`] is plain: arguments in, judgement out. What depends on where the command runs, or runs another
//! command in turn, is around it.

pub(super) mod config;
mod refs;
mod rules;
mod work;

use super::{
    Judgement,
    call::emptied,
    guard::{Access, readable},
    parse::UNKNOWN,
    state::State,
    walk::Walker,
    word::Field,
};

/// Says that something is refused: what it is, why, and what to do instead.
pub(super) fn denied(what: &str, why: &str, instead: &str) -> Judgement {
    Judgement::Denied(format!("{what} {why}: {instead}"))
}

/// Git's own options, up to the name of its command.
#[derive(Default)]
struct Front<'f> {
    directories: Vec<&'f str>,
    /// `--git-dir` and `--work-tree`.
    places: Vec<&'f str>,
    settings: Vec<&'f str>,
    /// `--exec-path=…` and `--config-env=…`.
    refused: Option<&'f str>,
    unknown: bool,
    command: Option<&'f str>,
    arguments: &'f [Field],
}

fn front(arguments: &[Field]) -> Front<'_> {
    let mut front = Front::default();
    let mut rest = arguments;
    while let [first, tail @ ..] = rest {
        let text = first.text.as_str();
        let value = tail.first().map(|field| field.text.as_str());
        let after_value = tail.get(1..).unwrap_or_default();
        rest = tail;
        match (text.split_once('=').map_or(text, |(name, _)| name), value) {
            ("-C", Some(value)) => front.directories.push(value),
            ("-c", Some(value)) => front.settings.push(value),
            ("--git-dir" | "--work-tree", Some(value)) if !text.contains('=') => front.places.push(value),
            ("--git-dir" | "--work-tree", _) => {
                front.places.extend(text.split_once('=').map(|(_, path)| path))
            }
            ("--config-env", _) => front.refused = Some(text),
            ("--exec-path", _) if text.contains('=') => front.refused = Some(text),
            ("--namespace" | "--super-prefix" | "--attr-source", _) if !text.contains('=') => {}
            _ if text.starts_with(UNKNOWN) => front.unknown = true,
            _ if text.starts_with('-') => continue,
            _ => {
                front.unknown |= text.contains(UNKNOWN);
                front.command = Some(text);
                front.arguments = tail;
                return front;
            }
        }
        let takes_next = matches!(
            text,
            "-C" | "-c"
                | "--git-dir"
                | "--work-tree"
                | "--namespace"
                | "--super-prefix"
                | "--attr-source"
                | "--config-env"
        );
        if takes_next {
            rest = after_value;
        }
    }
    front
}

/// Judges git's arguments by themselves, wherever they are run.
pub(super) fn judge(arguments: &[Field]) -> Judgement {
    let front = front(arguments);
    if let Some(refused) = front.refused {
        let refused = format!("`git {}`", readable(refused));
        return denied(&refused, "changes what git runs", "call git without it");
    }
    for setting in &front.settings {
        let (key, value) = setting.split_once('=').unwrap_or((setting, "true"));
        let judgement = config::setting(key, value);
        if judgement != Judgement::Allowed {
            return judgement;
        }
    }
    if front.unknown {
        let read = judge(&emptied(arguments.iter().cloned()));
        let risky = Judgement::Risky("it runs a command of git that is only known once it runs".to_owned());
        return if read.rank() > risky.rank() { read } else { risky };
    }
    match front.command {
        Some(command) if !asks_help(front.arguments) => rules::judge(command, front.arguments),
        Some(_) | None => Judgement::Allowed,
    }
}

/// `git push --help` and `git push -h` show a page.
fn asks_help(arguments: &[Field]) -> bool {
    match arguments {
        [only] if only.text == "-h" => true,
        [first, ..] => first.text == "--help",
        [] => false,
    }
}

impl Walker {
    /// Judges a call of git, and returns what it prints.
    pub(super) fn git(&mut self, arguments: &[Field], state: &mut State, stdin: &str) -> String {
        let front = front(arguments);
        let mut place = state.clone();
        for directory in &front.directories {
            place.change_directory(directory);
        }
        let judgement = judge(arguments);
        let redirected: Vec<String> = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"]
            .iter()
            .filter_map(|name| state.get(name).map(<[String]>::concat))
            .chain(front.places.iter().map(|path| (*path).to_owned()))
            .collect();
        let elsewhere = redirected.iter().all(|path| self.is_outside(path, &place));
        let judgement = match judgement {
            Judgement::Allowed => Judgement::Allowed,
            other @ Judgement::Denied(_) => other,
            Judgement::Commit | Judgement::Risky(_) if !elsewhere => denied(
                "git with another repository or working tree named",
                "writes where it cannot be followed",
                "run it in the project's directory",
            ),
            Judgement::Commit if self.is_elsewhere(&redirected, &place) => {
                Judgement::Risky("it commits in another repository".to_owned())
            }
            other @ (Judgement::Commit | Judgement::Risky(_)) => other,
        };
        self.found(judgement);
        self.git_runs(&front, &mut place, stdin);
        self.git_writes(&front, &place);
        printed(&front, &self.root)
    }

    /// Whether git is at work outside the workspace.
    fn is_elsewhere(&self, redirected: &[String], place: &State) -> bool {
        !redirected.is_empty() || self.is_outside(".", place)
    }

    /// Commands of git that run another command.
    fn git_runs(&mut self, front: &Front<'_>, place: &mut State, stdin: &str) {
        let text =
            |index: usize| front.arguments.get(index).map(|field| field.text.as_str()).unwrap_or_default();
        match (front.command.unwrap_or_default(), text(0)) {
            ("bisect", "run") => _ = self.call(&front.arguments[1..], place, stdin),
            ("submodule", "foreach") => {
                let rest = &front.arguments[1..];
                let start = rest.iter().position(|field| !field.text.starts_with('-')).unwrap_or(rest.len());
                let words = super::builtins::joined(&rest[start..]);
                self.run(&words, place, stdin);
            }
            _ => {}
        }
    }

    /// Files that a command of git writes beside the tracked ones.
    fn git_writes(&mut self, front: &Front<'_>, place: &State) {
        let command = front.command.unwrap_or_default();
        for (index, field) in front.arguments.iter().enumerate() {
            let next = front.arguments.get(index + 1).map(|next| next.text.as_str());
            let target = match field.text.as_str() {
                "-o" | "--output" | "--output-directory" if command != "grep" => next,
                text => text.strip_prefix("--output=").or_else(|| text.strip_prefix("--output-directory=")),
            };
            if let Some(target) = target {
                self.touch(target, Access::Write, place);
            }
            if matches!(command, "mv" | "rm") && !field.text.starts_with('-') {
                self.touch(&field.text, Access::Remove, place);
            }
        }
    }
}

/// What git prints, where other commands build on it.
fn printed(front: &Front<'_>, root: &str) -> String {
    let argument = match front.arguments {
        [only] => only.text.as_str(),
        _ => "",
    };
    match (front.command.unwrap_or_default(), argument) {
        ("rev-parse", "--show-toplevel") => format!("{root}\n"),
        ("rev-parse", "--git-dir" | "--git-common-dir" | "--absolute-git-dir") => format!("{root}/.git\n"),
        _ => UNKNOWN.to_string(),
    }
}
