//! Report files of a test run: how they are asked for without changing the person's command, and where they are found.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::ReportFile;
use workspace::text;

/// The largest report that is read, in bytes.
const LARGEST: u64 = 32 * 1024 * 1024;
/// The most reports that are read of one run.
const MOST_FILES: usize = 2000;
/// The most directories that are looked through.
const MOST_DIRECTORIES: usize = 20_000;
/// How many directories deep is looked.
const DEEPEST: usize = 12;

/// Directories of reports that build tools write by themselves.
const REPORT_DIRECTORIES: &[&str] = &["surefire-reports", "failsafe-reports", "test-results", "test-reports"];
/// Reports of that name are read wherever they are.
const REPORT_NAMES: &[&str] = &["junit.xml", "junit-report.xml", "test-results.xml", "test-report.xml"];
/// Directories with too many files that are none of the project's.
const PASSED_OVER: &[&str] = &[".git", "node_modules", ".venv", "venv", "site-packages", "__pycache__"];

/// Returns variables by which runners write their report into `dir`, in addition to what they print. `inherited` is what a
/// variable is set to already, if the command is to see it.
///
/// - `PYTEST_ADDOPTS`: JUnit XML with the file of each test, from which node ids are made.
/// - `SPEC_OPTS`: RSpec's JSON, beside the progress on the terminal. RSpec takes the last list of formatters that is given, so
///   it is left alone where the person has set it.
/// - `GOFLAGS`: Go names tests that passed only with `-v`.
pub fn report_environment(dir: &Path, inherited: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let mut environment = Vec::new();
    // Both split their value at spaces; pytest understands quotes.
    let path = |name: &str| {
        dir.join(name).to_str().filter(|path| !path.contains(['\'', '"', '\\'])).map(str::to_owned)
    };
    if let Some(path) = path("pytest.xml") {
        let own = inherited("PYTEST_ADDOPTS").unwrap_or_default();
        let options = format!("{own} '--junitxml={path}' -o junit_family=xunit1");
        environment.push(("PYTEST_ADDOPTS".to_owned(), options.trim_start().to_owned()));
    }
    if let Some(path) =
        path("rspec.json").filter(|path| !path.contains(' ') && inherited("SPEC_OPTS").is_none())
    {
        let options = format!("--format progress --format json --out {path}");
        environment.push(("SPEC_OPTS".to_owned(), options));
    }
    let own = inherited("GOFLAGS").or_else(|| saved_go_flags(&inherited)).unwrap_or_default();
    environment.push(("GOFLAGS".to_owned(), format!("{own} -v").trim_start().to_owned()));
    environment
}

/// Returns what `go env -w GOFLAGS=…` has saved, which the variable would hide.
fn saved_go_flags(inherited: impl Fn(&str) -> Option<String>) -> Option<String> {
    let path = inherited("GOENV").map(PathBuf::from).or_else(|| {
        let home = || inherited("HOME").map(|home| Path::new(&home).join(".config"));
        inherited("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home).map(|config| config.join("go/env"))
    })?;
    let saved = fs::read_to_string(path).ok()?;
    saved.lines().find_map(|line| line.strip_prefix("GOFLAGS=")).map(|flags| flags.trim().to_owned())
}

/// Reads the reports of a run that began at `since`: those in `dir`, those that `setting` (a path or a pattern, relative to
/// `root`) names, and those that build tools write by themselves. Older files are of another run.
///
/// What cannot be read is left out, but for a file that the setting names: that one counts as a report that is broken.
pub fn read_reports(root: &Path, dir: &Path, setting: &str, since: SystemTime) -> Vec<ReportFile> {
    let mut paths: Vec<(PathBuf, bool)> = Vec::new();
    let mut add = |found: Vec<PathBuf>, is_named: bool| {
        for path in found {
            if !paths.iter().any(|(known, _)| *known == path) {
                paths.push((path, is_named));
            }
        }
    };
    add(list(dir), false);
    let setting = if setting == "auto" { "" } else { setting };
    let found = if setting.is_empty() { ReportFiles::default() } else { look(root, Some(setting)) };
    add(found.named, true);
    if setting.is_empty() {
        add(look(root, None).usual, false);
    }
    let fresh = paths.into_iter().filter(|(path, _)| is_fresh(path, since)).take(MOST_FILES);
    fresh.filter_map(|(path, is_named)| read(&path, is_named)).collect()
}

fn read(path: &Path, is_named: bool) -> Option<ReportFile> {
    let shown = path.display().to_string();
    match text::bytes(path, LARGEST) {
        Ok(bytes) => Some(ReportFile { path: shown, text: String::from_utf8_lossy(&bytes).into_owned() }),
        Err(_) => is_named.then_some(ReportFile { path: shown, text: String::new() }),
    }
}

/// Tells whether a file was written in a run. File times are coarser than the clock, so a moment before counts.
fn is_fresh(path: &Path, since: SystemTime) -> bool {
    const COARSE: std::time::Duration = std::time::Duration::from_millis(20);
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    metadata.is_file() && metadata.modified().is_ok_and(|at| at + COARSE >= since)
}

/// Lists the files of a directory, in order.
fn list(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[derive(Default)]
struct ReportFiles {
    usual: Vec<PathBuf>,
    named: Vec<PathBuf>,
}

/// Looks through a tree for reports. Links are not followed: they may lead anywhere.
fn look(root: &Path, setting: Option<&str>) -> ReportFiles {
    let mut found = ReportFiles::default();
    let mut directories = vec![(root.to_path_buf(), 0)];
    let mut seen = 0;
    while let Some((directory, depth)) = directories.pop() {
        seen += 1;
        if seen > MOST_DIRECTORIES {
            break;
        }
        for path in list(&directory) {
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            if metadata.is_dir() {
                let is_wanted = setting.is_some() || !PASSED_OVER.contains(&name);
                if depth < DEEPEST && is_wanted && name != ".git" {
                    directories.push((path, depth + 1));
                }
            } else if metadata.is_file() {
                match setting {
                    Some(pattern) => {
                        let relative =
                            path.strip_prefix(root).ok().and_then(Path::to_str).unwrap_or_default();
                        if matches(pattern.trim_start_matches("./"), relative) {
                            found.named.push(path);
                        }
                    }
                    None if is_usual(&path, name) => found.usual.push(path),
                    None => {}
                }
            }
        }
    }
    found
}

fn is_usual(path: &Path, name: &str) -> bool {
    let is_report_directory =
        |part: &OsStr| part.to_str().is_some_and(|part| REPORT_DIRECTORIES.contains(&part));
    let mut above = path.parent().into_iter().flat_map(Path::ancestors).filter_map(Path::file_name).take(3);
    REPORT_NAMES.contains(&name) || (name.ends_with(".xml") && above.any(is_report_directory))
}

/// Tells whether a path fits a pattern: `*` and `?` within a part, `**` for any number of parts.
fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    parts_match(&pattern, &path)
}

fn parts_match(pattern: &[&str], path: &[&str]) -> bool {
    match pattern {
        [] => path.is_empty(),
        ["**", rest @ ..] => (0..=path.len()).any(|skipped| parts_match(rest, &path[skipped..])),
        [first, rest @ ..] => match path {
            [part, others @ ..] => {
                letters_match(first.as_bytes(), part.as_bytes()) && parts_match(rest, others)
            }
            [] => false,
        },
    }
}

fn letters_match(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'*', rest @ ..] => (0..=text.len()).any(|skipped| letters_match(rest, &text[skipped..])),
        [b'?', rest @ ..] => text.split_first().is_some_and(|(_, others)| letters_match(rest, others)),
        [letter, rest @ ..] => {
            text.split_first().is_some_and(|(first, others)| first == letter && letters_match(rest, others))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_paths() {
        for (pattern, path, expected) in [
            ("junit.xml", "junit.xml", true),
            ("junit.xml", "a/junit.xml", false),
            ("**/junit.xml", "junit.xml", true),
            ("**/target/*.xml", "a/b/target/TEST-x.xml", true),
            ("out/*.tap", "out/a/b.tap", false),
            ("out/?.tap", "out/a.tap", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn own_options_stay_and_awkward_paths_are_left_out() {
        let own = |name: &str| (name == "PYTEST_ADDOPTS").then(|| "-x --color=no".to_owned());
        let environment = report_environment(Path::new("/r e/d"), own);
        let pytest = "-x --color=no '--junitxml=/r e/d/pytest.xml' -o junit_family=xunit1";
        let go = ("GOFLAGS".to_owned(), "-v".to_owned());
        assert_eq!(environment, [("PYTEST_ADDOPTS".to_owned(), pytest.to_owned()), go.clone()]);
        assert_eq!(report_environment(Path::new("/it's"), |_| None), [go]);
        let all = report_environment(Path::new("/d"), |_| None);
        assert_eq!(
            all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["PYTEST_ADDOPTS", "SPEC_OPTS", "GOFLAGS"]
        );
    }

    #[test]
    fn own_flags_of_go_stay() {
        let home = tempfile::tempdir().unwrap();
        let flags = |variables: &[(&str, &str)]| {
            let inherited = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            report_environment(Path::new("/d"), inherited).pop().unwrap().1
        };
        let home_variable = ("HOME", home.path().to_str().unwrap());
        assert_eq!(flags(&[("GOFLAGS", "-mod=vendor")]), "-mod=vendor -v");
        assert_eq!(flags(&[home_variable]), "-v");
        fs::create_dir_all(home.path().join(".config/go")).unwrap();
        fs::write(home.path().join(".config/go/env"), "GOPROXY=off\nGOFLAGS=-tags=x\n").unwrap();
        assert_eq!(flags(&[home_variable]), "-tags=x -v");
    }

    #[test]
    fn reports_of_this_run_are_read_and_older_ones_are_not() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("reports");
        for (path, text) in [
            ("reports/pytest.xml", "a"),
            ("api/target/surefire-reports/TEST-a.xml", "b"),
            ("build/test-results/test/TEST-b.xml", "c"),
            ("node_modules/x/junit.xml", "no"),
            ("out/own.tap", "d"),
            ("build/test-results/old.xml", "no"),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let long_ago = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        let old =
            fs::File::options().write(true).open(root.path().join("build/test-results/old.xml")).unwrap();
        old.set_modified(long_ago).unwrap();
        let since = SystemTime::now() - std::time::Duration::from_secs(3600);
        let texts = |setting: &str| -> Vec<String> {
            let mut texts: Vec<String> =
                read_reports(root.path(), &dir, setting, since).into_iter().map(|file| file.text).collect();
            texts.sort();
            texts
        };
        assert_eq!(texts(""), ["a", "b", "c"]);
        assert_eq!(texts("out/*.tap"), ["a", "d"]);
    }
}
