//! Looking things up in the world for the engine.

use std::{fs, io, path::Path, time::Duration};

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
    for probe in probes {
        match probe {
            Probe::Diff { base, words } => seen.diff = Some(git.diff(base.as_deref(), words)),
            Probe::Boxes { issue } => seen.boxes = Some(boxes(root, issue)),
            Probe::Head => seen.head = Some(git.head()),
            Probe::Tree => seen.tree = Some(git.tree()),
            Probe::Commands(commands) => {
                seen.commands = commands.iter().map(|command| run(root, command)).collect();
            }
        }
    }
    seen
}

fn run(root: &Path, command: &str) -> CommandResult {
    let (passed, end, output) = match process::run("sh", ["-c", command], root, &[], COMMAND_LIMIT) {
        Ok(finished) => (finished.is_success(), finished.end.to_string(), finished.last_words(OUTPUT_KEPT)),
        Err(error) => (false, error.to_string(), String::new()),
    };
    CommandResult { command: command.to_owned(), passed, end, output }
}

/// Reads the criteria of an issue from its file in the project.
fn boxes(root: &Path, issue: &str) -> Seen<engine::Boxes> {
    if issue.is_empty() || !issue.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        return Seen::Absent("the issue has no file".to_owned());
    }
    let path = root.join(".warp/issues").join(format!("{issue}.md"));
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
