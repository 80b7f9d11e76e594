//! Sessions that warp does not drive, and sessions that have ended.
//!
//! Of a session that a person has in the agent, the transcripts tell what was used; every answer is booked into the
//! ledger by its id, with the chunk and phase in which it came, so that booking again changes nothing. Of every session that has
//! ended, one line goes into `~/.claude/token-usage.jsonl`: a note that the line is due is made before the end is
//! recorded and taken away after the line is written, so that a crash between the two loses nothing.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use adapters::{boundary, machine};
use engine::{Advice, PhaseName, Record, Run, Seen, Time, Usage, view::session_usage};

use super::{
    Ledger, LedgerError, Tags,
    transcripts::{self, Message, Transcripts},
};
use crate::{Current, Error, Place, Workspace, counted, spelled};

/// The file of all sessions, in the agent's own directory.
const FILE: &str = "token-usage.jsonl";
/// Where it is noted which sessions' lines are due, beside the project's journal.
const DUE: &str = "ended";
/// How much of the end of the file is searched for a session's line, in bytes.
const SEARCHED: u64 = 4 * 1024 * 1024;
/// The most lines that are written at a time.
const MOST_DUE: usize = 100;

/// Looks up what agents that others started have used since a run began, and books it. Without transcripts there is
/// nothing to be seen.
pub(crate) fn look_up(
    workspace: &mut Workspace,
    run: &Run,
    since: Time,
    advice: &mut Vec<Advice>,
) -> Option<Seen<Usage>> {
    let mut transcripts = Transcripts::of(&workspace.place.root, since)?;
    if let Err(error) = transcripts.read() {
        return Some(Seen::Failed(format!("the agent's transcripts cannot be read: {error}")));
    }
    advice.extend(doubts(&transcripts));
    match workspace.book_session(run, &transcripts) {
        Ok(total) => Some(Seen::Value(total)),
        Err(error) => Some(Seen::Failed(format!("what was used cannot be booked: {}", spelled(&error)))),
    }
}

/// Says what is missing from what transcripts tell.
fn doubts(transcripts: &Transcripts) -> Vec<Advice> {
    let broken =
        format!("{} of the agent's transcripts cannot be read", counted(transcripts.broken, "line", "lines"));
    let cut =
        "the agent's transcripts are too long to be read whole: more was used than is booked".to_owned();
    let doubts = [(transcripts.broken > 0, broken), (transcripts.is_cut, cut)];
    doubts.into_iter().filter(|(is_so, _)| *is_so).map(|(_, text)| Advice(text)).collect()
}

/// Why a session is not booked.
#[derive(Debug, thiserror::Error)]
pub enum BookSessionError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Workspace(#[from] Error),
}

impl Workspace {
    /// Books what transcripts tell of a run, and returns all of it with what it cost.
    pub fn book_session(&mut self, run: &Run, transcripts: &Transcripts) -> Result<Usage, BookSessionError> {
        let mut total = Usage::default();
        let Some(first) = transcripts.messages().map(|message| message.at).min() else { return Ok(total) };
        let phases = self.phases(run, first)?;
        let mut ledger = Ledger::open(&self.dirs)?;
        let all = Tags {
            project: self.place.project_id().ok().flatten().unwrap_or_default(),
            project_name: self.place.name(),
            run: run.id.to_string(),
            issue: run.issue.clone(),
            role: None,
            agent: "claude".to_owned(),
            pool: "anthropic".to_owned(),
            ..Tags::default()
        };
        let mut days: BTreeMap<String, Vec<(Tags, &Message)>> = BTreeMap::new();
        for message in transcripts.messages() {
            let micro_usd = ledger.prices().of(&message.model).cost(&message.usage);
            total.add(&Usage { micro_usd, ..message.usage });
            let (phase, chunk) = (phase_at(&phases, message), chunk_at(run, message));
            days.entry(message.at.day()).or_default().push((Tags { phase, chunk, ..all.clone() }, message));
        }
        for (day, answers) in days {
            ledger.book_answers(machine::now(), &day, &answers)?;
        }
        Ok(total)
    }

    /// Returns the phases that a run has entered, oldest first. A run keeps the newest: where something happened before
    /// them, the journal tells.
    fn phases(&mut self, run: &Run, first: Time) -> Result<Vec<(Time, PhaseName)>, Error> {
        if run.history.first().is_some_and(|row| row.at <= first) {
            return Ok(run.history.iter().map(|row| (row.at, row.phase.clone())).collect());
        }
        let Some(current) = self.select(Some(run.id.as_str()))? else { return Ok(Vec::new()) };
        let records = self.records(&current)?;
        Ok(records.into_iter().filter(Record::moves).map(|record| (record.at, record.phase)).collect())
    }
}

/// Returns the chunk that was worked on when an answer came; 0 before there were any.
fn chunk_at(run: &Run, message: &Message) -> u64 {
    if run.chunk.index > 0 && run.chunk.started_at.is_some_and(|started| started <= message.at) {
        return run.chunk.index;
    }
    let earlier = run.chunk_usage.iter().rev();
    let mut earlier = earlier.filter(|chunk| chunk.started_at.is_some_and(|started| started <= message.at));
    earlier.find(|chunk| message.at <= chunk.ended_at).map_or(0, |chunk| chunk.chunk)
}

/// Returns the phase that the run was in when an answer came.
fn phase_at(phases: &[(Time, PhaseName)], message: &Message) -> String {
    let entered = phases.iter().rev().find(|(at, _)| *at <= message.at);
    entered.or(phases.first()).map(|(_, phase)| phase.to_string()).unwrap_or_default()
}

impl Workspace {
    fn due(&self) -> Result<Option<PathBuf>, Error> {
        Ok(self.place.project_id()?.map(|id| self.dirs.project(&id).join(DUE)))
    }

    /// Notes that a session's line is due, before its end is recorded.
    pub(crate) fn note_session(&self, run: &Run) -> Result<(), Error> {
        let Some(due) = self.due()? else { return Ok(()) };
        let path = due.join(run.id.as_str());
        let failed = |source| Error::Write { path: path.clone(), source };
        fs::create_dir_all(&due).map_err(failed)?;
        boundary::around("note_session", || fs::write(&path, "")).map_err(failed)
    }

    /// Writes the lines that are due.
    pub(crate) fn settle_sessions(&mut self) -> Result<(), Error> {
        let Some(due) = self.due()? else { return Ok(()) };
        let Ok(entries) = fs::read_dir(&due) else { return Ok(()) };
        for entry in entries.take(MOST_DUE).flatten() {
            let name = entry.file_name();
            let Some(current) = name.to_str().map(|id| self.select(Some(id))).transpose()?.flatten() else {
                continue;
            };
            // One that has not ended after all ends later.
            if current.run.id.as_str() != name || current.run.is_open() {
                continue;
            }
            let file = write_session(&self.place, &current)?;
            fs::remove_file(entry.path())
                .or_else(gone)
                .map_err(|source| Error::Write { path: file, source })?;
        }
        Ok(())
    }
}

fn gone(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Appends the line of a session that has ended, if it is not there. Who does not use the agent has no use for it.
fn write_session(place: &Place, current: &Current) -> Result<PathBuf, Error> {
    let home = transcripts::claude_home().filter(|home| home.is_dir());
    let path = home.clone().unwrap_or_default().join(FILE);
    let line = session_usage(&current.workflow, &current.run, &place.name());
    if let (Some(_), Some(line)) = (home, line) {
        let failed = |source| Error::Write { path: path.clone(), source };
        if !has_session(&path, current.run.id.as_str()).map_err(failed)? {
            boundary::around("token_usage", || append(&path, &line)).map_err(failed)?;
        }
    }
    Ok(path)
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path)?;
    // In one piece, so that two sessions that end at once do not mix.
    file.write_all(format!("{line}\n").as_bytes())
}

/// Tells whether a session has its line.
fn has_session(path: &Path, run: &str) -> io::Result<bool> {
    let mut file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(SEARCHED)))?;
    let mut end = Vec::new();
    file.take(SEARCHED).read_to_end(&mut end)?;
    let mark = format!("\"run\":\"{run}\"");
    Ok(String::from_utf8_lossy(&end).contains(&mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_from_transcripts_is_said() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("projects/-shop")).unwrap();
        let mut transcripts =
            Transcripts::in_home(home.path(), Path::new("/shop"), Time::from_millis(0)).unwrap();
        assert!(doubts(&transcripts).is_empty());
        (transcripts.broken, transcripts.is_cut) = (2, true);
        let said: Vec<String> = doubts(&transcripts).into_iter().map(|advice| advice.0).collect();
        assert!(said[0].starts_with("2 lines") && said[1].contains("too long"), "{said:?}");
    }
}
