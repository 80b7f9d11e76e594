//! Who decides when a push needs a person's word: nobody, a question of the run, or whoever gave the command.

use std::fmt;

use adapters::secrets::redact;
use engine::Inquiry;

use super::PUSH;
use crate::{NextError, Workspace};

/// The longest question, in characters.
const LONGEST: usize = 2000;

/// Asks a question with these options.
pub type Ask = dyn FnMut(&str, &[&str]) -> Option<String> + Send;

/// Who decides. Without anybody, nothing leaves the machine.
#[derive(Default)]
pub enum Decides {
    #[default]
    Nobody,
    /// The run asks, and the phase is done again with the answer.
    InRun,
    /// Whoever gave the command is asked at once; nothing if they do not answer.
    Here(Box<Ask>),
}

impl fmt::Debug for Decides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody => "Nobody",
            Self::InRun => "InRun",
            Self::Here(_) => "Here",
        })
    }
}

impl Workspace {
    /// Lets a person choose; nothing if nobody is there. The same question is asked once.
    pub(crate) fn choose(&mut self, question: &str, options: &[&str]) -> Result<Option<String>, NextError> {
        match &mut self.decides {
            Decides::Nobody => Ok(None),
            Decides::Here(ask) => Ok(ask(question, options)),
            Decides::InRun => {
                let asked = plain(question);
                let answer = self.choices()?.into_iter().find(|choice| choice.question == asked);
                match answer {
                    Some(choice) => Ok(Some(choice.option)),
                    None => Err(undecided(question, options)),
                }
            }
        }
    }

    /// Returns what a person has answered about a push in the phase that the run is in, newest first.
    pub(crate) fn choices(&mut self) -> Result<Vec<Choice>, NextError> {
        let Some(current) = self.current()? else { return Ok(Vec::new()) };
        let run = &current.run;
        let here = run.facts.questions.iter().rev().take_while(|asked| asked.at >= run.came_here_at());
        let choice = |asked: &Inquiry| {
            let question = asked.word("question").to_owned();
            asked.option().map(|option| Choice { question, option: option.to_owned() })
        };
        Ok(here.filter(|asked| asked.kind() == PUSH).filter_map(choice).collect())
    }
}

/// What a person has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) question: String,
    pub(crate) option: String,
}

/// The error of work that waits for a person's choice.
pub(crate) fn undecided(question: &str, options: &[&str]) -> NextError {
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    NextError::Undecided { question: plain(question), options }
}

/// Writes a question as it is recorded, so that it is found again: a remote's words may hold anything.
fn plain(question: &str) -> String {
    let question = redact(question);
    let kept = question.chars().filter(|c| !c.is_control() || *c == '\n').take(LONGEST).collect::<String>();
    kept.trim().to_owned()
}
