//! What a person sees while a run is driven: calm lines that stay, and at a terminal a few below them that change.
//!
//! Without a terminal there are only the lines; with `--json` every event is a line of JSON.

mod block;
mod lines;
mod replies;

use std::io::{self, IsTerminal as _, Write as _};

use driver::{Reply, Show, Shown};
use engine::{
    Record, Run, Workflow,
    view::{self, Asked, Status},
};
use serde_json::{Value, json};

use block::Block;
use replies::Replies;

/// In which form events are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

/// Whoever looks on at this terminal.
pub(crate) struct Live {
    form: Form,
    /// The part that changes; none without a terminal.
    block: Option<Block>,
    replies: Option<Replies>,
    /// Set once nobody reads what is printed any more.
    is_unheard: bool,
}

impl Live {
    pub(crate) fn new(form: Form) -> Self {
        let is_terminal = form == Form::Text && io::stdout().is_terminal();
        let replies = (is_terminal && io::stdin().is_terminal()).then(Replies::default);
        Self { form, block: is_terminal.then(Block::default), replies, is_unheard: false }
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
        let lines = engine::shown(lines).into_owned();
        let text = match &mut self.block {
            Some(block) => {
                let lines = lines::wrapped(&lines, block::width());
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
            (Form::Text, None) => self.print(&view::render_status(status)),
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

impl Show for Live {
    fn show(&mut self, shown: Shown<'_>) {
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
}
