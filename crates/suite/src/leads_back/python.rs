//! Editable installs: an interpreter that imports the project from the checkout.

use std::{
    env,
    fs::File,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::{Finding, LinkSearch, entries, read};

const REMEDY: &str = "use an interpreter in which the project is not installed (leave the virtual environment, or `pip uninstall` the project)";
/// Tools that make an environment for the directory in which they are called.
const OWN_ENVIRONMENT: &[&str] = &["uv", "tox", "nox", "hatch", "pdm", "pipenv", "rye"];
/// Files by which a project is known to be one of Python.
const MANIFESTS: &[&str] = &["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini"];
/// Programs that are likely to run the tests of such a project, whatever its test command calls.
const LIKELY: &[&str] = &["python", "python3", "pytest"];
/// The file by which Python knows a virtual environment.
const VIRTUAL_ENVIRONMENT: &str = "pyvenv.cfg";
/// The longest first line of a script that is read, in bytes.
const LONGEST_LINE: u64 = 4096;

/// Finds what makes the interpreter of a test command import from the checkout; one finding for each directory of packages.
pub(super) fn editable(look: &LinkSearch<'_>, command: &str) -> Vec<Finding> {
    let words: Vec<&str> = command.split(|c: char| c.is_whitespace() || "&|;()".contains(c)).collect();
    if words.iter().any(|word| OWN_ENVIRONMENT.contains(word)) {
        return Vec::new();
    }
    let is_python = MANIFESTS.iter().any(|name| look.slot.join(name).is_file());
    let likely = LIKELY.iter().filter(|_| is_python);
    let programs = words.iter().chain(likely).filter_map(|word| program(look, word));
    let mut directories: Vec<PathBuf> = programs
        .filter_map(|program| interpreter(&program))
        .flat_map(|python| sites(look, &python))
        .collect();
    directories.sort();
    directories.dedup();
    directories.iter().filter_map(|directory| installed(look, directory)).collect()
}

/// Returns the program that a word of a command names.
fn program(look: &LinkSearch<'_>, word: &str) -> Option<PathBuf> {
    let word = word.trim_matches(['"', '\'']);
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if word.contains('/') {
        return Some(look.slot.join(word)).filter(is_program);
    }
    let path = (look.env)("PATH").filter(|_| !word.is_empty())?;
    env::split_paths(&path).map(|directory| look.slot.join(directory).join(word)).find(is_program)
}

/// Returns the Python that a program is, or that a script names in its first line.
fn interpreter(program: &Path) -> Option<PathBuf> {
    let is_python = |path: &Path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("python"))
    };
    let mut start = Vec::new();
    File::open(program).ok()?.take(LONGEST_LINE).read_to_end(&mut start).ok()?;
    let Some(line) = start.strip_prefix(b"#!") else {
        return is_python(program).then(|| program.to_owned());
    };
    let line = String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next()?).into_owned();
    let named = PathBuf::from(line.split_whitespace().next()?);
    (named.is_absolute() && is_python(&named)).then_some(named)
}

/// Returns the directories from which an interpreter imports installed packages.
fn sites(look: &LinkSearch<'_>, python: &Path) -> Vec<PathBuf> {
    let root = |path: &Path| path.parent().and_then(Path::parent).map(Path::to_owned);
    let mut all = Vec::new();
    if let Some(root) = root(python).filter(|root| root.join(VIRTUAL_ENVIRONMENT).is_file()) {
        all.extend(below(&root.join("lib")));
        let settings = read(&root.join(VIRTUAL_ENVIRONMENT)).unwrap_or_default();
        let mut settings = settings.lines().filter_map(|line| line.split_once('='));
        let shares = settings.any(|(name, value)| {
            name.trim() == "include-system-site-packages" && value.trim().eq_ignore_ascii_case("true")
        });
        if !shares {
            return all;
        }
    }
    let base = python.canonicalize().ok().as_deref().and_then(root);
    let user = look.variable("HOME").map(|home| home.join(".local"));
    for root in base.into_iter().chain(user) {
        all.extend(below(&root.join("lib")));
        all.extend(below(&root.join("local/lib")));
    }
    all
}

/// Returns the directories of packages of every version that is there: which one is used cannot be told without asking it.
fn below(lib: &Path) -> Vec<PathBuf> {
    let versions = entries(lib).filter(|entry| entry.file_name().to_string_lossy().starts_with("python"));
    versions
        .flat_map(|version| ["site-packages", "dist-packages"].map(|name| version.path().join(name)))
        .filter(|path| path.is_dir())
        .collect()
}

/// Finds the first package in a directory that is imported from the checkout.
fn installed(look: &LinkSearch<'_>, directory: &Path) -> Option<Finding> {
    let mut files: Vec<PathBuf> = entries(directory).filter_map(|entry| file_of(&entry.path())).collect();
    files.sort();
    files.into_iter().find_map(|file| {
        let text = read(&file)?;
        let to = named(look, &file, &text)?;
        Some(Finding { file, to, remedy: REMEDY })
    })
}

/// Returns the file that tells where a package is imported from, if there may be one.
fn file_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    if name.ends_with(".dist-info") {
        return Some(path.join("direct_url.json"));
    }
    let is_one = name.ends_with(".pth") || name.ends_with(".egg-link") || is_finder(name);
    is_one.then(|| path.to_owned())
}

/// Tells whether a module finds an editable install.
fn is_finder(name: &str) -> bool {
    name.starts_with("__editable__") && name.ends_with(".py")
}

/// Returns the directory of the checkout that such a file names.
fn named(look: &LinkSearch<'_>, file: &Path, text: &str) -> Option<PathBuf> {
    if file.ends_with("direct_url.json") {
        let value: serde_json::Value = serde_json::from_str(text).ok()?;
        // A package that was installed from there, but not as an editable one, is a copy.
        let is_editable = value["dir_info"]["editable"] == true;
        let path = value["url"].as_str().filter(|_| is_editable)?.strip_prefix("file://")?;
        return look.in_checkout(Path::new(&decoded(path)));
    }
    // A line may be relative to the directory of packages.
    let directory = file.parent()?;
    let relative = || text.lines().find_map(|line| look.in_checkout(&directory.join(line.trim())));
    look.named_in(text).or_else(relative)
}

/// Takes the percent signs out of the path of an address.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
