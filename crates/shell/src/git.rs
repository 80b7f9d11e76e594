//! Git: its own options, then one rule per command.
//!
//! [`judge`] is plain: arguments in, judgement out. What depends on where the command runs, or runs another
//! command in turn, is around it.

pub(super) mod config;
mod elsewhere;
mod refs;
mod rules;
mod work;

use super::{
    Judgement,
    call::emptied,
    denied,
    guard::Access,
    options::{Options, Spec},
    parse::UNKNOWN,
    paths::{base_name, has_inner_parent},
    programs::is_one_of,
    state::State,
    walk::Walker,
    word::Field,
};

/// Git's own options whose value may be the next argument.
const TAKES_VALUE: &str = "-C -c --git-dir --work-tree --namespace --super-prefix --attr-source --config-env";

/// Git's own options, up to the name of its command.
#[derive(Default)]
struct Front<'f> {
    directories: Vec<&'f str>,
    git_dirs: Vec<&'f str>,
    work_trees: Vec<&'f str>,
    settings: Vec<&'f str>,
    /// An option that changes what git runs.
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
        if !text.starts_with(['-', UNKNOWN]) {
            front.unknown |= text.contains(UNKNOWN);
            front.command = Some(text);
            front.arguments = tail;
            return front;
        }
        front.unknown |= text.starts_with(UNKNOWN);
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let takes_next = attached.is_none() && is_one_of(TAKES_VALUE, name);
        let next = tail.first().filter(|_| takes_next).map(|field| field.text.as_str());
        let value = attached.or(next);
        match name {
            "-C" => front.directories.extend(value),
            "-c" => front.settings.extend(next),
            "--git-dir" => front.git_dirs.extend(value),
            "--work-tree" => front.work_trees.extend(value),
            "--config-env" => front.refused = Some(name),
            "--exec-path" if attached.is_some() => front.refused = Some(name),
            _ => {}
        }
        rest = tail.get(usize::from(takes_next)..).unwrap_or_default();
    }
    front
}

/// In whose repository git is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Project,
    Other,
    /// Another repository, index or tree is named, and not plainly outside the project.
    Unclear,
}

/// Judges git's arguments by themselves, wherever they are run.
pub(super) fn judge(arguments: &[Field]) -> Judgement {
    let front = front(arguments);
    if let Some(refused) = front.refused {
        let refused = format!("`git {refused}`");
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

impl Walker<'_> {
    /// Judges a call of git, and returns what it prints.
    pub(super) fn git(&mut self, arguments: &[Field], state: &mut State, stdin: &str) -> String {
        let front = front(arguments);
        let mut place = state.clone();
        for directory in &front.directories {
            place.change_directory(directory);
            if has_inner_parent(directory)
                || directory.starts_with("/proc/")
                || directory.starts_with("/dev/")
            {
                place.lose_directory();
            }
        }
        let judgement = match (judge(arguments), self.place(&front, state, &place)) {
            (Judgement::Allowed, _) => Judgement::Allowed,
            (other @ Judgement::Denied(_), Place::Project | Place::Unclear) => other,
            (Judgement::Commit | Judgement::Risky(_), Place::Unclear) => denied(
                "git with another repository, index or working tree named",
                "writes where it cannot be followed",
                "run it in the project's directory",
            ),
            (other @ (Judgement::Commit | Judgement::Risky(_)), Place::Project) => other,
            (other, Place::Other) => self.in_other_repository(other, &front, &place),
        };
        self.found(judgement);
        self.git_runs(&front, &mut place, stdin);
        self.git_writes(&front, &place, stdin);
        self.git_makes(&front, &place, state);
        printed(&front, &self.root)
    }

    /// Tells in whose repository git is at work.
    fn place(&self, front: &Front<'_>, state: &State, place: &State) -> Place {
        let variable = |name: &str| state.get(name).map(<[String]>::concat);
        // What is not exported may be all the same, from before; and what is may be gone by then.
        let is_sure = |name: &str| state.exported.contains(name);
        let git_dirs: Vec<String> = match front.git_dirs.as_slice() {
            [] => variable("GIT_DIR").into_iter().collect(),
            named => named.iter().map(|path| (*path).to_owned()).collect(),
        };
        let trees = ["GIT_WORK_TREE", "GIT_INDEX_FILE"].iter().filter_map(|name| variable(name));
        let mut trees = trees.chain(front.work_trees.iter().map(|path| (*path).to_owned())).peekable();
        let has_trees = trees.peek().is_some();
        let all_outside =
            git_dirs.iter().all(|path| self.is_elsewhere(path, place) && self.is_outside(path, place))
                && trees.all(|path| self.is_outside(&path, place));
        let is_named = !front.git_dirs.is_empty() || (!git_dirs.is_empty() && is_sure("GIT_DIR"));
        let is_other = match front.command.unwrap_or_default() {
            // It makes another, wherever it is called.
            "init" | "clone" if !is_named => {
                let target = front
                    .arguments
                    .iter()
                    .map(|field| field.text.as_str())
                    .rfind(|text| !text.starts_with('-'));
                self.is_elsewhere(target.unwrap_or("."), place)
            }
            _ if is_named => all_outside,
            _ => self.is_elsewhere(".", place),
        };
        if !all_outside {
            Place::Unclear
        } else if is_other {
            Place::Other
        } else if has_trees || !git_dirs.is_empty() {
            // Another tree or index with the project's own repository.
            Place::Unclear
        } else {
            Place::Project
        }
    }

    /// Commands of git that run another command.
    fn git_runs(&mut self, front: &Front<'_>, place: &mut State, stdin: &str) {
        let is_word = |field: &Field| !field.text.starts_with('-');
        let start = front.arguments.iter().position(is_word).unwrap_or(front.arguments.len());
        let (verb, rest) = match &front.arguments[start..] {
            [verb, rest @ ..] => (verb.text.as_str(), rest),
            [] => ("", [].as_slice()),
        };
        match (front.command.unwrap_or_default(), verb) {
            ("bisect", "run") => _ = self.call(rest, place, stdin),
            ("submodule", "foreach") => {
                let start = rest.iter().position(is_word).unwrap_or(rest.len());
                self.run(&super::builtins::joined(&rest[start..]), place, stdin);
            }
            ("difftool", _) => {
                let options =
                    Options::read(front.arguments, &Spec { short: "x", attached: "", long: &["extcmd"] });
                for text in options.values("x", "extcmd") {
                    self.run(text, place, stdin);
                }
            }
            _ => {}
        }
    }

    /// Files that a command of git writes beside the tracked ones.
    fn git_writes(&mut self, front: &Front<'_>, place: &State, stdin: &str) {
        let command = front.command.unwrap_or_default();
        let short = if matches!(command, "archive" | "format-patch") { "o" } else { "" };
        let spec = Spec { short, attached: "", long: &["output", "output-directory"] };
        let options = Options::read(front.arguments, &spec);
        let named = options.values(short, "output").into_iter().chain(options.values("", "output-directory"));
        named.for_each(|path| self.touch(path, Access::Write, place));
        let operands: Vec<&str> = options.all_operands().collect();
        match (command, operands.as_slice()) {
            ("rm", paths) => {
                let access = if options.is("cached") { Access::Make } else { Access::Remove };
                paths.iter().for_each(|path| self.touch(path, access, place));
            }
            ("mv", [sources @ .., target]) => {
                self.touch(target, Access::Write, place);
                for source in sources {
                    self.touch(source, Access::Remove, place);
                    self.touch(&format!("{target}/{}", base_name(source)), Access::Write, place);
                }
            }
            ("bundle", ["create", path, ..]) => self.touch(path, Access::Write, place),
            ("interpret-trailers", paths) if options.has("in-place") => {
                paths.iter().for_each(|path| self.touch(path, Access::Write, place));
            }
            ("apply", patches) => self.patched(patches, stdin, place),
            _ => {}
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
