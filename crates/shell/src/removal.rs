//! Removals that may take the whole project or its repository with them.
//!
//! Unknown paths are otherwise let through, after a snapshot. A recursive removal of one that may turn out to be the
//! project's root or its `.git` is not: a narrower one is always possible.

use super::{
    guard::readable, parse::UNKNOWN, paths::relation, programs::is_one_of, state::State, walk::Walker,
    word::Field,
};

/// Programs that remove what they are given.
const REMOVERS: &str = "rm unlink shred rmdir trash trash-put rimraf grm srm truncate mv";
/// Settings by which `*` also matches names that begin with a dot.
const DOT_GLOBS: [&str; 4] = ["dotglob", "GLOBIGNORE", "globdots", "glob_dots"];
/// What `find` can be told to look for by a name or a path.
const BY_NAME: &str =
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -samefile -inum";

impl Walker<'_> {
    /// Refuses to remove a path recursively that may be the project's root or its repository.
    pub(super) fn removed_with_all(&mut self, path: &str, state: &State) {
        let git = format!("{}/.git", self.root);
        let may_be = |target: &String| target.contains(UNKNOWN) && relation(target, &git).any();
        if state.resolve(path).iter().any(may_be) {
            self.deny(format!(
                "`{}` is only known once it runs, and may be the whole project or its `.git`: name a directory inside, as in `rm -r build/NAME`",
                readable(path)
            ));
        }
    }
}

/// Whether a program removes what it is given.
pub(super) fn is_remover(program: &str) -> bool {
    is_one_of(REMOVERS, program.rsplit('/').next().unwrap_or(program))
}

/// Whether `find` is told what to look for by a name, or to stay out of the repository, so that it does not find all of that.
pub(super) fn spares_repository(arguments: &[Field]) -> bool {
    let texts: Vec<&str> = arguments.iter().map(|field| field.text.as_str()).collect();
    let is_negated =
        |index: usize| index.checked_sub(1).is_some_and(|before| matches!(texts[before], "!" | "-not"));
    let has_or = texts.iter().any(|text| matches!(*text, "-o" | "-or" | ","));
    let mut spares = false;
    for index in 0..texts.len() {
        let sought = texts.get(index + 1).copied().unwrap_or_default();
        let is_by_name = is_one_of(BY_NAME, texts[index]);
        let prunes = || texts.contains(&"-prune");
        spares |= match (is_by_name, is_negated(index) || prunes()) {
            (true, true) => sought.contains(".git"),
            // A pattern of nothing but signs that stand for anything narrows nothing.
            (true, false) => !has_or && sought.chars().any(char::is_alphanumeric),
            (false, _) => texts[index] == "-maxdepth" && sought == "1" && texts.contains(&"f"),
        };
    }
    spares
}

/// Tells why a command may not run that lets patterns match names with a dot, and removes by a pattern.
pub(super) fn by_dot_glob(command: &str) -> Option<String> {
    let set = DOT_GLOBS.iter().find(|setting| command.contains(*setting))?;
    let mut words = command.split(|letter: char| !(letter.is_alphanumeric() || letter == '-'));
    let removes = command.contains(['*', '?', '[']) && words.any(is_remover);
    removes.then(|| format!("with `{set}` a pattern matches `.git` too: name what is to go, without it"))
}

/// Returns what `mktemp` prints, as far as that is known: something that is not in the project.
pub(super) fn temporary(program: &str, arguments: &[Field]) -> Option<String> {
    let is_elsewhere = |field: &Field| field.text.starts_with('-') && !field.text.starts_with("-p");
    let is_usual = arguments.iter().all(|field| is_elsewhere(field) || field.text.starts_with("/tmp/"));
    let is_tmpdir = |field: &Field| field.text.starts_with("--tmpdir=");
    (program == "mktemp" && is_usual && !arguments.iter().any(is_tmpdir)).then(|| format!("/tmp/{UNKNOWN}"))
}
