//! What a person sees while a run is driven: calm lines that stay, and at a terminal a few below them that change.
//!
//! Without a terminal there are only the lines; with `--json` every event is a line of JSON.

mod block;
mod lines;
mod replies;
pub(crate) mod transcript;

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use adapters::{agent::AgentUpdate, clock::Bell};
use driver::{Reply, Show, Shown};
use engine::{
    Record, Run, Workflow,
    view::{self, Asked, Status},
};
use serde::Deserialize as _;
use serde_json::{Value, json};

pub(crate) use block::span;

use crate::{colour, local_time};
use block::Block;
use replies::Replies;
use transcript::{Told, Transcript};

/// In which form events are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

/// Tells whether an event is shown as text.
pub(crate) fn is_worth_a_line(record: &Record, run: &Run, workflow: &Workflow) -> bool {
    lines::recorded(record, run, workflow).is_some()
}

/// Whoever looks on at this terminal.
pub(crate) struct Live {
    form: Form,
    /// The part that changes; none without a terminal.
    block: Option<Block>,
    replies: Option<Replies>,
    /// Where other terminals read along; none for one that only looks on.
    transcript: Option<Transcript>,
    /// What each line begins with, where several runs are watched.
    label: String,
    /// Set once nobody reads what is printed any more.
    is_unheard: bool,
}

impl Live {
    pub(crate) fn new(form: Form) -> Self {
        let is_terminal = form == Form::Text && io::stdout().is_terminal();
        let replies = (is_terminal && io::stdin().is_terminal()).then(Replies::default);
        let block = is_terminal.then(Block::default);
        Self { form, block, replies, transcript: None, label: String::new(), is_unheard: false }
    }

    /// Returns one that also writes the transcripts of the runs that it shows.
    pub(crate) fn with_transcript(self, transcript: Transcript) -> Self {
        Self { transcript: Some(transcript), ..self }
    }

    /// Begins every following line with a label.
    pub(crate) fn label(&mut self, label: String) {
        self.label = label;
    }

    /// Takes the changing part away and lets the terminal say that it is over.
    pub(crate) fn end(&mut self) {
        if let Some(block) = &mut self.block {
            let text = format!("{}\x07", block.erase());
            self.put(&text);
        }
    }

    /// Prints lines that stay.
    fn print(&mut self, lines: &str) {
        let lines = engine::shown(lines);
        let lines: String = lines.lines().map(|line| format!("{}{line}\n", self.label)).collect();
        let text = match &mut self.block {
            Some(block) => {
                let mut lines = lines::wrapped(&lines, block::width());
                if colour::is_on_stdout() {
                    lines = lines.lines().map(|line| lines::painted(line, &self.label) + "\n").collect();
                }
                format!("{}{lines}{}", block.erase(), block.draw())
            }
            None => lines,
        };
        self.put(&text);
    }

    fn json(&mut self, value: &Value) {
        self.put(&format!("{}\n", engine::shown(&value.to_string())));
    }

    fn put(&mut self, text: &str) {
        let mut out = io::stdout().lock();
        // A reader that has gone away does not end a run.
        self.is_unheard |= out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err();
    }

    /// Tells whether nobody reads what is printed any more.
    pub(crate) fn is_unheard(&self) -> bool {
        self.is_unheard
    }

    /// Tells whether there is a part that changes, whose clock has to be moved.
    pub(crate) fn is_redrawn(&self) -> bool {
        self.block.is_some()
    }

    /// Shows where a run stands before anything happens to it.
    pub(crate) fn begin(&mut self, status: &Status<'_>, run: &Run, workflow: &Workflow) {
        match (self.form, &mut self.block) {
            (Form::Json, _) => self.json(&json!({ "type": "status", "status": status })),
            (Form::Text, Some(block)) => {
                block.follow(run, workflow);
                self.print("");
            }
            (Form::Text, None) => self.print(&view::render_status(status, local_time::minute)),
        }
    }

    fn recorded(&mut self, record: &Record, run: &Run, workflow: &Workflow) {
        if self.form == Form::Json {
            let mut value = json!({ "type": "event", "run": run.id, "issue": run.issue });
            if let (Some(value), Ok(Value::Object(record))) =
                (value.as_object_mut(), serde_json::to_value(record))
            {
                value.extend(record.into_iter().filter(|(field, _)| field != "changes"));
            }
            return self.json(&value);
        }
        if let Some(block) = &mut self.block {
            block.follow(run, workflow);
        }
        if let Some(lines) = lines::recorded(record, run, workflow) {
            self.print(&lines);
        }
    }
}

impl Live {
    /// Shows a line of a run's transcript.
    pub(crate) fn retell(&mut self, told: &Told) {
        if self.form == Form::Json {
            return self.json(&told.value);
        }
        let said = told.value.get("said").and_then(|said| AgentUpdate::deserialize(said).ok());
        if let (Some(block), Some(said)) = (&mut self.block, &said) {
            block.hear(said);
        }
        if let Some(lines) = told.value.get("lines").and_then(Value::as_str) {
            self.print(lines);
        }
    }

    /// Lets other terminals see it too.
    fn transcribe(&mut self, shown: Shown<'_>) {
        let Some(transcript) = &mut self.transcript else { return };
        if let Shown::Recorded { run, .. } = shown {
            transcript.follow(run.id.as_str(), run.issue.as_deref());
        } else if let Shown::Header(header) = shown {
            transcript.follow(&header.run, header.issue.as_deref());
        }
        let failed = lines::as_json(shown)
            .zip(lines::text(shown))
            .and_then(|(value, lines)| transcript.append(value, &lines));
        if let Some(error) = failed {
            let text = format!("`warp watch` shows less from here on: its file cannot be written: {error}");
            self.show(Shown::Warned(&text));
        }
    }
}

impl Show for Live {
    fn show(&mut self, shown: Shown<'_>) {
        self.transcribe(shown);
        if let Shown::Recorded { record, run, workflow } = shown {
            return self.recorded(record, run, workflow);
        }
        if self.form == Form::Json {
            if let Some(value) = lines::as_json(shown) {
                self.json(&value);
            }
            return;
        }
        if let (Some(block), Shown::Agent(said)) = (&mut self.block, shown) {
            block.hear(said);
        }
        if let (Some(block), Shown::Notice(notice)) = (&mut self.block, shown) {
            block.notice(notice);
        }
        match lines::text(shown) {
            Some(mut lines) => {
                let question = if let Shown::Asked(asked) = shown {
                    Some((asked, "or type here"))
                } else if let Shown::Consent(asked) = shown {
                    Some((asked, "type"))
                } else {
                    None
                };
                if let (Some((asked, lead)), Some(_), Some(block)) =
                    (question, &self.replies, &mut self.block)
                {
                    lines.push_str(&lines::how_to_reply(asked, lead));
                    block.rest();
                }
                self.print(&lines);
            }
            None => {
                if let Some(text) = self.block.as_mut().and_then(Block::redraw) {
                    self.put(&text);
                }
            }
        }
    }

    fn reply(&mut self, asked: &Asked) -> Option<Reply> {
        let line = self.replies.as_mut()?.line()?;
        let reply = replies::parse(&line, asked);
        if reply.is_none() && !line.trim().is_empty() {
            self.print(&lines::no_reply(&line, asked));
        }
        reply
    }

    fn is_attended(&self) -> bool {
        self.replies.is_some()
    }

    fn ring(&mut self, bell: Bell) {
        if let Some(replies) = &mut self.replies {
            replies.ring(bell);
        }
    }

    fn redraws(&self) -> Option<Duration> {
        self.block.as_ref().and_then(Block::redraws)
    }
}
