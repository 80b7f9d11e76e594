//! What an event means to somebody who is away: pure, from a run's records alone.
//!
//! Notices have the originals' words, and the project's name after them: `[warp-drive] coding -- chunk 2/5 for #42 in demo`.

use engine::{
    PhaseName, Record, Run, Standing, Time, Workflow, keys,
    view::{self, Asked},
    workflow::Job,
};
use project::counted;
use serde_json::Value;

use crate::port::{Closing, Post, Question};

/// The most that is posted of a question, of a feature's name and of a reason, in characters.
const LONGEST_QUESTION: usize = 3000;
const LONGEST_NAME: usize = 60;
const LONGEST_REASON: usize = 300;
/// How much of a commit's name is shown.
const SHORT_HASH: usize = 9;

/// State of a run before an event, for comparison.
#[derive(Clone, Debug, Default)]
pub(crate) struct PreviousState {
    asked: Option<Asked>,
    commits: u64,
    standing: Option<Standing>,
}

impl PreviousState {
    pub(crate) fn of(workflow: &Workflow, run: &Run) -> Self {
        Self {
            asked: view::asked(workflow, run),
            commits: run.metrics.commits,
            standing: Some(run.standing.clone()),
        }
    }
}

/// Says what is to be posted about an event; `run` is the run after it, in the project of that name. Of an event from before
/// the person went away, only what still holds is told: `now` is how the run stood when they did.
pub(crate) fn posts(
    before: &PreviousState,
    workflow: &Workflow,
    run: &Run,
    record: &Record,
    project: &str,
    now: Option<&Standing>,
) -> Vec<Post> {
    let mut posts = Vec::new();
    let asked = view::asked(workflow, run);
    let is_same = |asked: &Asked| before.asked.as_ref().is_some_and(|before| before.id == asked.id);
    if let Some(open) = before.asked.as_ref().filter(|_| !asked.as_ref().is_some_and(is_same)) {
        posts.push(Post::Closing(Closing { id: open.id.clone(), words: closing(record, run) }));
    }
    if now.is_none() && run.metrics.commits > before.commits && run.settings.get(keys::HEARTBEAT_ON_COMMIT) {
        let hash = run.commit_hashes.last().map(String::as_str).unwrap_or_default();
        let hash: String = hash.chars().take(SHORT_HASH).collect();
        let what = [hash, chunk(run)].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
        posts.push(notice(run, "commit", &within(&what.join(", "), project), true));
    }
    if record.moves() {
        let summarises =
            |phase: &PhaseName| workflow.phase(phase).is_some_and(|phase| phase.job == Some(Job::Summarise));
        let is_end = workflow.ends_in(&run.phase) || summarises(&run.phase);
        let what = if is_end { summary(run) } else { chunk(run) };
        // A session that has said that it ends need not say so twice aloud.
        let is_told = record.from.as_ref().is_some_and(summarises);
        let word = run.phase.as_str().replace('_', " ");
        posts.push(notice(run, &word, &within(&what, project), !is_end || is_told));
    } else if now.is_none_or(|now| *now == run.standing)
        && let Some((word, what)) = standing(before, run, project)
    {
        posts.push(notice(run, word, &what, false));
    }
    if let Some(asked) = asked.filter(|asked| !is_same(asked)) {
        posts.push(Post::Question(question(&asked, run, project)));
    }
    posts
}

fn notice(run: &Run, word: &str, what: &str, is_quiet: bool) -> Post {
    Post::Notice { text: format!("[{}] {word} -- {what}", run.workflow), is_quiet }
}

/// Says what it is about and in which project: a person may have several.
fn within(what: &str, project: &str) -> String {
    if what.is_empty() { format!("in {project}") } else { format!("{what} in {project}") }
}

/// Says what is worked on: `chunk 2/5 for #42`.
fn chunk(run: &Run) -> String {
    let chunk = match (run.chunk.index, run.chunk.acs.len()) {
        (0, _) | (_, 0) => String::new(),
        (index, all) => format!("chunk {index}/{all}"),
    };
    let about = match (&run.issue, &run.feature) {
        (Some(issue), _) => format!("for #{issue}"),
        (None, Some(feature)) => format!("for {}", cut(feature, LONGEST_NAME)),
        (None, None) => String::new(),
    };
    [chunk, about].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Says what has come of it: `4 commits, 3 chunks`, or the feature and its pull request.
fn summary(run: &Run) -> String {
    if run.feature.is_some() {
        let pull = run.artifacts.pr_url.as_ref().map(|pull| format!(", pull request {pull}"));
        return format!("{}{}", chunk(run), pull.unwrap_or_default());
    }
    let (commits, chunks) = (run.metrics.commits, run.metrics.chunks_completed);
    let mut text =
        format!("{}, {}", counted(commits, "commit", "commits"), counted(chunks, "chunk", "chunks"));
    if !run.deferred.is_empty() {
        text.push_str(&format!(", {} skipped", run.deferred.len()));
    }
    text
}

/// Says that a run waits, stands still or is over, where no phase says so.
fn standing(before: &PreviousState, run: &Run, project: &str) -> Option<(&'static str, String)> {
    if before.standing.as_ref() == Some(&run.standing) {
        return None;
    }
    match &run.standing {
        Standing::Suspended { wait } => {
            let why = cut(&wait.to_string(), LONGEST_REASON);
            Some(("waiting", format!("{}: {why}", within(&chunk(run), project))))
        }
        Standing::Stopped => Some(("stopped", within(&chunk(run), project))),
        Standing::Ended { how } => Some(("over", format!("{}: {how}", within(&summary(run), project)))),
        // What it is parked on is asked in a message of its own.
        Standing::Active | Standing::Parked { .. } => None,
    }
}

fn question(asked: &Asked, run: &Run, project: &str) -> Question {
    let otherwise = match asked.deadline.filter(|_| run.question_deadline().is_some()) {
        Some(deadline) => {
            format!("Until {}; then its chunk is skipped, and an issue asks you again.", clock(deadline))
        }
        None => "The run waits for it.".to_owned(),
    };
    Question {
        id: asked.id.clone(),
        about: format!("[{}] decision -- {}", run.workflow, within(&chunk(run), project)),
        question: cut(&asked.question, LONGEST_QUESTION),
        options: asked.options.clone(),
        otherwise,
    }
}

/// Says what became of a decision.
fn closing(record: &Record, run: &Run) -> String {
    let text = |field: &str| record.data.get(field).and_then(Value::as_str);
    let at = clock(record.at);
    if let Some(option) = text("option").filter(|_| text("decision").is_some()) {
        let by = text("by").unwrap_or("somebody");
        let note = text("note").map(|note| format!(" ({})", cut(note, LONGEST_REASON))).unwrap_or_default();
        return format!("{option}{note} -- {by}, {at}");
    }
    if record.event == *"chunk_deferred" {
        let why = run.deferred.last().map(|chunk| cut(&chunk.why, LONGEST_REASON)).unwrap_or_default();
        return format!("skipped -- {why}, {at}");
    }
    format!("not asked any more -- {at}")
}

fn clock(time: Time) -> String {
    let text = time.to_seconds();
    // `2026-03-01T12:05:51Z`: a person wants hours and minutes.
    let clock = text.get(11..16).unwrap_or(&text).to_owned();
    format!("{clock} UTC")
}

/// Cuts a text to so many units of UTF-16, in which Telegram counts.
fn cut(text: &str, most: usize) -> String {
    let mut units = 0;
    let is_too_much = |&(_, letter): &(usize, char)| {
        units += letter.len_utf16();
        units > most
    };
    match text.char_indices().find(is_too_much) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_by_the_units_in_which_telegram_counts() {
        assert_eq!(cut("tea", 3), "tea");
        assert_eq!(cut("teas", 3), "tea…");
        assert_eq!(cut("🍵🍵🍵", 4), "🍵🍵…");
    }
}
