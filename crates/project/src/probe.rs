//! Looking things up in the world for the engine.

use std::{path::Path, time::Duration};

use adapters::git::ListingCache;
use engine::{Advice, CommandResult, Observations, Probe, Run, Seen};
use suite::acceptance;

use crate::{Shell, Workspace, spend::session};

/// How long one verification command may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(600);
/// How much of a command's output is kept.
const OUTPUT_KEPT: usize = 2000;

/// Gathers what `probes` ask for about a run, with a word on what was hard to see.
pub(crate) fn gather(
    workspace: &mut Workspace,
    about: &Run,
    probes: &[Probe],
) -> (Observations, Vec<Advice>) {
    let place = workspace.place.clone();
    let (root, git) = (place.root.as_path(), place.git());
    let mut listed = ListingCache::default();
    let mut seen = Observations::default();
    let mut advice = Vec::new();
    let names =
        probes.iter().find_map(|probe| if let Probe::TestNames(names) = probe { Some(names) } else { None });
    let names = names.map(Vec::as_slice).unwrap_or_default();
    for probe in probes {
        match probe {
            Probe::Diff { base, words } => seen.diff = Some(git.diff(base.as_deref(), words, &mut listed)),
            Probe::Boxes { issue } => seen.boxes = Some(workspace.tracker().boxes(issue)),
            Probe::Head => seen.head = Some(git.head()),
            Probe::Commits { since } => seen.commits = Some(git.commits(since)),
            Probe::Tree => seen.tree = Some(git.tree()),
            Probe::Commands(commands) => {
                seen.commands =
                    commands.iter().map(|command| run(&workspace.shell, root, command, names)).collect();
                // They may have changed files.
                listed = ListingCache::default();
            }
            // They are looked for in what the commands print.
            Probe::TestNames(_) => {}
            Probe::Lines { base, lines } => {
                seen.lines = Some(git.changed_lines(base.as_deref(), lines, &mut listed));
            }
            Probe::Receipt(claim) => seen.receipts.push(git.claim(claim)),
            Probe::Tests { file, command, whole } => {
                let (shell, known) = (&workspace.shell, command.as_deref());
                let look = || acceptance::look(shell, root, about, file.as_deref(), known, *whole);
                seen.tests = Some(match &workspace.slot {
                    Some(_) => acceptance::leaving_nothing(&git, look),
                    None => look(),
                });
                listed = ListingCache::default();
            }
            Probe::Frozen { file, at, since } => {
                seen.frozen = Some(git.frozen(file, at, since.as_deref()));
            }
            Probe::Seeds { base } => {
                seen.unseeded = Some(match git.diff(base.as_deref(), &[], &mut listed) {
                    Seen::Value(diff) => workspace.tables_without_seeds(about, &diff.files),
                    Seen::Absent(why) => Seen::Absent(why),
                    Seen::Failed(why) => Seen::Failed(why),
                });
            }
            Probe::Criteria { issue } => seen.has_criteria = Some(workspace.has_criteria(issue)),
            Probe::Usage { since } => {
                seen.usage = session::look_up(workspace, about, *since, &mut advice);
            }
        }
    }
    (seen, advice)
}

fn run(shell: &Shell, root: &Path, command: &str, names: &[String]) -> CommandResult {
    let (passed, end, output, printed) = match shell.line(root, command, &[], COMMAND_LIMIT) {
        Ok(finished) => {
            let printed = [finished.stdout.as_slice(), finished.stderr.as_slice()].concat();
            let printed = String::from_utf8_lossy(&printed).into_owned();
            (finished.is_success(), finished.end.to_string(), finished.last_words(OUTPUT_KEPT), printed)
        }
        Err(error) => (false, error, String::new(), String::new()),
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
