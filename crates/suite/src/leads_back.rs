//! What leads from a run's workspace back into the person's checkout.
//!
//! Without a sandbox, or in a worktree, tests see the checkout at its own path. An editable install, a link or an override
//! that names it makes them test the checkout instead of the run's tree, and whatever an agent breaks passes.
//!
//! Only files are read, nothing is started. What is not found here is found by the proof that the tests can fail.

mod python;

use std::{
    ffi::OsString,
    fmt, fs,
    path::{Path, PathBuf},
};

use workspace::{Place, Shell};

use super::SuiteError;

/// How deep packages of a JavaScript workspace are looked for.
const DEEPEST: usize = 3;
/// The largest file that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// Something outside of the workspace's control that makes tests look at the checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The file or link that leads back.
    pub file: PathBuf,
    /// Where it leads.
    pub to: PathBuf,
    /// What a person can do about it.
    pub remedy: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` leads to `{}`: {}", self.file.display(), self.to.display(), self.remedy)
    }
}

/// Refuses a run whose tests would test the person's checkout. Where the run's tree is mounted over the checkout, they
/// cannot.
pub fn refuse(shell: &Shell, place: &Place, command: &str) -> Result<(), SuiteError> {
    let Some(checkout) = place.origin().filter(|_| !shell.is_over_project()) else { return Ok(()) };
    let own = shell.env();
    let env = |name: &str| match own.iter().find(|(known, _)| known == name) {
        Some((_, value)) => Some(OsString::from(value)),
        None => std::env::var_os(name),
    };
    let found = leads_back(checkout, &place.root, command, &env);
    if found.is_empty() {
        return Ok(());
    }
    let found: Vec<String> = found.iter().map(Finding::to_string).collect();
    Err(SuiteError(format!(
        "`{command}` would test your checkout, not what the run writes. {}. In the sandbox, with `workspace = \"clone\"`, \
         none of this matters",
        found.join("; ")
    )))
}

/// Returns what makes a test command in `slot` look at `checkout`, whose path is canonical. `env` returns the variables that
/// the command is run with.
pub(crate) fn leads_back(
    checkout: &Path,
    slot: &Path,
    command: &str,
    env: &dyn Fn(&str) -> Option<OsString>,
) -> Vec<Finding> {
    let look = LinkSearch { checkout, slot, env };
    let mut found = python::editable(&look, command);
    found.extend(look.node());
    found.extend(look.go());
    found.extend(look.cargo());
    found
}

/// Inputs of the search for links back to the checkout.
struct LinkSearch<'a> {
    checkout: &'a Path,
    slot: &'a Path,
    env: &'a dyn Fn(&str) -> Option<OsString>,
}

impl LinkSearch<'_> {
    fn variable(&self, name: &str) -> Option<PathBuf> {
        (self.env)(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// Returns where a path really is, if that is in the checkout and not in the workspace.
    fn in_checkout(&self, path: &Path) -> Option<PathBuf> {
        let real = path.canonicalize().ok()?;
        (real.starts_with(self.checkout) && !real.starts_with(self.slot)).then_some(real)
    }

    /// Returns the first path in the checkout that a text names, whole or in quotes.
    fn named_in(&self, text: &str) -> Option<PathBuf> {
        let words = text.split(['\'', '"', '`', '\n']).map(str::trim);
        let mut paths = words.filter(|word| word.starts_with('/')).map(Path::new);
        paths.find_map(|path| self.in_checkout(path))
    }

    /// Finds packages that are links into the checkout (`npm link`, `link:` and `file:` dependencies).
    fn node(&self) -> Vec<Finding> {
        let remedy = "install the package instead of linking it (`npm unlink` takes a link away)";
        let links = node_modules(self.slot, DEEPEST).into_iter().flat_map(|directory| packages(&directory));
        links.filter_map(|file| Some(Finding { to: self.in_checkout(&file)?, file, remedy })).collect()
    }

    /// Finds modules that are replaced by a directory of the checkout.
    fn go(&self) -> Vec<Finding> {
        let remedy = "name the directory by a relative path";
        let files = ["go.work", "go.mod"].map(|name| self.slot.join(name));
        let named = |text: &str| {
            let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
            let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
            self.named_in(&words.join("\n"))
        };
        let found = files.into_iter().filter_map(|file| Some((named(&read(&file)?)?, file)));
        found.map(|(to, file)| Finding { file, to, remedy }).collect()
    }

    /// Finds crates that Cargo's configuration takes from the checkout, whatever the manifest says.
    fn cargo(&self) -> Vec<Finding> {
        let remedy = "take the override out of it";
        if !self.slot.join("Cargo.toml").is_file() {
            return Vec::new();
        }
        let home = self.variable("CARGO_HOME");
        let home = home.or_else(|| self.variable("HOME").map(|home| home.join(".cargo")));
        let mut directories: Vec<PathBuf> =
            self.slot.ancestors().map(|directory| directory.join(".cargo")).chain(home).collect();
        directories.dedup();
        let files =
            directories.iter().flat_map(|cargo| ["config.toml", "config"].map(|name| cargo.join(name)));
        let mut found: Vec<Finding> = Vec::new();
        for file in files {
            let Some(to) = read(&file).and_then(|text| self.overridden(&file, &text)) else { continue };
            if !found.iter().any(|known| known.file == file) {
                found.push(Finding { file, to, remedy });
            }
        }
        found
    }

    /// Returns the first directory of the checkout that a configuration of Cargo takes crates from.
    fn overridden(&self, file: &Path, text: &str) -> Option<PathBuf> {
        let table: toml::Table = text.parse().ok()?;
        let list = |key: &str| table.get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default();
        let tables = |key: &str| {
            let table = table.get(key).and_then(toml::Value::as_table).cloned().unwrap_or_default();
            table.into_iter().filter_map(|(_, value)| value.as_table().cloned())
        };
        let patched = tables("patch").flat_map(toml::Table::into_iter);
        let patched = patched.filter_map(|(_, crate_)| crate_.get("path").cloned());
        let replaced = tables("source").filter_map(|source| source.get("directory").cloned());
        // They are relative to the directory that `.cargo` is in.
        let base = file.parent()?.parent()?;
        let named: Vec<toml::Value> = list("paths").into_iter().chain(patched).chain(replaced).collect();
        named.iter().filter_map(toml::Value::as_str).find_map(|path| self.in_checkout(&base.join(path)))
    }
}

/// Returns the directories of packages in a tree, down to packages of a workspace.
fn node_modules(directory: &Path, deepest: usize) -> Vec<PathBuf> {
    let mut all = vec![directory.join("node_modules")];
    if deepest > 0 {
        for entry in entries(directory) {
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && !is_hidden && entry.file_name() != "node_modules" {
                all.extend(node_modules(&entry.path(), deepest - 1));
            }
        }
    }
    all.retain(|path| path.symlink_metadata().is_ok());
    all
}

/// Returns a directory of packages if it is a link, and the packages in it that are links.
fn packages(directory: &Path) -> Vec<PathBuf> {
    if directory.is_symlink() {
        return vec![directory.to_owned()];
    }
    let mut all = Vec::new();
    for entry in entries(directory) {
        let kind = entry.file_type().ok();
        if kind.is_some_and(|kind| kind.is_symlink()) {
            all.push(entry.path());
        } else if entry.file_name().to_string_lossy().starts_with('@') {
            let scoped = entries(&entry.path());
            let links = scoped.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
            all.extend(links.map(|entry| entry.path()));
        }
    }
    all
}

fn entries(directory: &Path) -> impl Iterator<Item = fs::DirEntry> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten()
}

/// Reads a text file of ordinary size.
fn read(file: &Path) -> Option<String> {
    fs::metadata(file).ok().filter(|data| data.is_file() && data.len() <= LARGEST)?;
    fs::read(file).ok().map(|text| String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests;
