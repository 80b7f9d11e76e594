//! Looking things up in the world for the engine.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use adapters::{git::Git, process};
use engine::{CommandResult, Observations, Probe, Seen, read_boxes};

/// How long one verification command may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(600);
/// How much of a command's output is kept.
const OUTPUT_KEPT: usize = 2000;
/// The largest issue text that is read, in bytes.
const LARGEST_ISSUE: u64 = 1024 * 1024;

/// Gathers what `probes` ask for.
pub(crate) fn gather(root: &Path, probes: &[Probe]) -> Observations {
    let git = Git::new(root);
    let mut seen = Observations::default();
    let names =
        probes.iter().find_map(|probe| if let Probe::TestNames(names) = probe { Some(names) } else { None });
    let names = names.map(Vec::as_slice).unwrap_or_default();
    for probe in probes {
        match probe {
            Probe::Diff { base, words } => seen.diff = Some(git.diff(base.as_deref(), words)),
            Probe::Boxes { issue } => seen.boxes = Some(boxes(root, issue)),
            Probe::Head => seen.head = Some(git.head()),
            Probe::Tree => seen.tree = Some(git.tree()),
            Probe::Commands(commands) => {
                seen.commands = commands.iter().map(|command| run(root, command, names)).collect();
            }
            // They are looked for in what the commands print.
            Probe::TestNames(_) => {}
            Probe::Lines { base, lines } => seen.lines = Some(git.changed_lines(base.as_deref(), lines)),
            Probe::Receipt(claim) => seen.receipts.push(git.claim(claim)),
        }
    }
    seen
}

fn run(root: &Path, command: &str, names: &[String]) -> CommandResult {
    let (passed, end, output, printed) = match process::run("sh", ["-c", command], root, &[], COMMAND_LIMIT) {
        Ok(finished) => {
            let printed = [finished.stdout.as_slice(), finished.stderr.as_slice()].concat();
            let printed = String::from_utf8_lossy(&printed).into_owned();
            (finished.is_success(), finished.end.to_string(), finished.last_words(OUTPUT_KEPT), printed)
        }
        Err(error) => (false, error.to_string(), String::new(), String::new()),
    };
    let names = names.iter().filter(|name| has_word(&printed, name)).cloned().collect();
    CommandResult { command: command.to_owned(), passed, end, output, names }
}

/// Tells whether `name` occurs in `text` by itself: `login` is not in `login_fails`.
fn has_word(text: &str, name: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(name).any(|(at, found)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + found.len()..].chars().next());
        !before.is_some_and(joins) && !after.is_some_and(joins)
    })
}

/// Returns the file that holds an issue's text.
pub(crate) fn issue_file(root: &Path, issue: &str) -> PathBuf {
    root.join(".warp/issues").join(format!("{issue}.md"))
}

/// Reads the criteria of an issue from its file in the project.
pub(crate) fn boxes(root: &Path, issue: &str) -> Seen<engine::Boxes> {
    if issue.is_empty() || !issue.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        return Seen::Absent("the issue has no file".to_owned());
    }
    let path = issue_file(root, issue);
    let shown = format!(".warp/issues/{issue}.md");
    match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Seen::Absent(format!("there is no {shown}")),
        Err(error) => Seen::Failed(format!("{shown}: {error}")),
        Ok(data) if !data.is_file() => Seen::Failed(format!("{shown} is not a file")),
        Ok(data) if data.len() > LARGEST_ISSUE => {
            Seen::Failed(format!("{shown} has {} bytes; the most is {LARGEST_ISSUE}", data.len()))
        }
        Ok(_) => match fs::read(&path) {
            Ok(bytes) => Seen::Value(read_boxes(&String::from_utf8_lossy(&bytes))),
            Err(error) => Seen::Failed(format!("{shown}: {error}")),
        },
    }
}
