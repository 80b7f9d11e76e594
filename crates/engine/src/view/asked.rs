//! The question that a run has for a person, whether it is parked on one or stands in a phase that is theirs.

use serde::Serialize;

use super::explain;
use crate::{
    Decision, Run, Standing, Time, Workflow,
    workflow::{Activity, Budget},
};

/// A question that `warp answer` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    pub id: String,
    pub question: String,
    pub options: Vec<String>,
    /// When it is too late, where something happens then.
    pub deadline: Option<Time>,
}

/// A command that answers a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerCommand<'a> {
    /// What is typed into a shell, as it is.
    pub command: String,
    pub option: &'a str,
    /// Whether the command gives the option's number, which does not say what it is.
    pub is_numbered: bool,
}

impl Asked {
    /// Returns the option that a person means by its text or by its number, counted from one.
    pub fn option(&self, given: &str) -> Option<&str> {
        let given = given.trim();
        let numbered = || self.options.get(given.parse::<usize>().ok()?.checked_sub(1)?);
        self.options.iter().find(|option| *option == given).or_else(numbered).map(String::as_str)
    }

    /// Returns a command for each option. One that a shell would take apart or interpret is given by its number.
    pub fn commands(&self) -> Vec<AnswerCommand<'_>> {
        let commands = self.options.iter().zip(1..).map(|(option, number)| {
            let number = number.to_string();
            // An option that is called like another one's number goes first.
            let is_taken = self.options.contains(&number);
            let (given, is_numbered) = match (is_word(option), is_taken) {
                (true, _) => (option.clone(), false),
                (false, false) => (number, true),
                (false, true) => (format!("'{}'", option.replace('\'', r"'\''")), false),
            };
            AnswerCommand { command: format!("warp answer {} {given}", self.id), option, is_numbered }
        });
        commands.collect()
    }

    /// Writes the commands a line each; what a number stands for is beside it.
    pub fn command_lines(&self) -> String {
        let commands = self.commands();
        let width = commands.iter().map(|command| command.command.chars().count()).max().unwrap_or(0);
        let line = |AnswerCommand { command, option, is_numbered }: &AnswerCommand<'_>| {
            if *is_numbered { format!("{command:<width$}  {option}\n") } else { format!("{command}\n") }
        };
        commands.iter().map(line).collect()
    }

    /// Writes the commands as a part of a sentence.
    pub fn inline_commands(&self) -> String {
        let name = |AnswerCommand { command, option, is_numbered }: AnswerCommand<'_>| {
            if is_numbered { format!("`{command}` ({option})") } else { format!("`{command}`") }
        };
        let mut names: Vec<String> = self.commands().into_iter().map(name).collect();
        match (names.pop(), names.is_empty()) {
            (Some(last), false) => format!("{} or {last}", names.join(", ")),
            (last, _) => last.unwrap_or_default(),
        }
    }
}

/// Tells whether a shell hands an option on as it is.
fn is_word(option: &str) -> bool {
    let is_plain = |next: char| next.is_ascii_alphanumeric() || "_-.".contains(next);
    !option.is_empty() && !option.starts_with('-') && option.chars().all(is_plain)
}

impl From<&Decision> for Asked {
    fn from(decision: &Decision) -> Self {
        Self {
            id: decision.id.clone(),
            question: decision.question.clone(),
            options: decision.options.clone(),
            deadline: decision.deadline,
        }
    }
}

/// Returns what the run asks a person; nothing if it waits for nobody.
pub fn asked(workflow: &Workflow, run: &Run) -> Option<Asked> {
    match &run.standing {
        Standing::Parked { decision } => Some(Asked::from(decision)),
        Standing::Active => of_phase(workflow, run),
        Standing::Suspended { .. } | Standing::Stopped | Standing::Ended { .. } => None,
    }
}

fn of_phase(workflow: &Workflow, run: &Run) -> Option<Asked> {
    let phase = workflow.phase(&run.phase).filter(|phase| phase.activity == Activity::Person)?;
    let options: Vec<String> =
        phase.rows.iter().filter_map(|row| row.answer.as_deref()).map(str::to_owned).collect();
    if options.is_empty() {
        return None;
    }
    let effect = run.effect.as_ref()?;
    let trip = run.trip.as_ref().filter(|trip| trip.at == run.phase_started_at);
    let tripped = trip.and_then(|trip| {
        let budget = workflow.budgets.iter().find(|budget| trip.reasons.contains(&budget.reason))?;
        let used = budget.used(run, explain::entered(run, trip), trip.at);
        let otherwise = phase.question.as_deref().unwrap_or(Budget::CONTINUE);
        Some(budget.question(run, &trip.from_phase, used, otherwise))
    });
    let question = tripped.unwrap_or_else(|| phase.question.as_ref().unwrap_or(&phase.purpose).clone());
    let words = run.phase_reason.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
    Some(Asked {
        id: format!("{}.{}", run.id, effect.id),
        question: format!("{question}{words}"),
        options,
        deadline: run.deadline(workflow),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(options: &[&str]) -> Asked {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        Asked { id: "r1.5".to_owned(), question: "Which?".to_owned(), options, deadline: None }
    }

    #[test]
    fn an_option_is_meant_by_its_text_or_its_number() {
        let asked = asking(&["hello", "good day", "3", "skip"]);
        for (given, option) in [
            ("hello", Some("hello")),
            ("2", Some("good day")),
            (" good day ", Some("good day")),
            ("3", Some("3")),
            ("4", Some("skip")),
            ("0", None),
            ("5", None),
            ("hell", None),
        ] {
            assert_eq!(asked.option(given), option, "{given}");
        }
    }

    #[test]
    fn every_command_can_be_pasted_and_gives_its_own_option() {
        let asked = asking(&["hello", "good day", "$(rm x)", "--note", "2", "it's me"]);
        let commands = asked.commands();
        let given: Vec<&str> = commands.iter().map(|command| command.command.as_str()).collect();
        assert_eq!(
            given,
            [
                "warp answer r1.5 hello",
                "warp answer r1.5 'good day'",
                "warp answer r1.5 3",
                "warp answer r1.5 4",
                "warp answer r1.5 2",
                "warp answer r1.5 6"
            ]
        );
        for AnswerCommand { command, option, .. } in &commands {
            let last = command.splitn(4, ' ').last().unwrap().trim_matches('\'');
            assert_eq!(asked.option(last), Some(*option), "{command}");
        }
    }

    #[test]
    fn a_number_stands_beside_what_it_means() {
        let asked = asking(&["hello", "good day"]);
        assert_eq!(asked.command_lines(), "warp answer r1.5 hello\nwarp answer r1.5 2      good day\n");
        assert_eq!(asked.inline_commands(), "`warp answer r1.5 hello` or `warp answer r1.5 2` (good day)");
        assert_eq!(asking(&["stop"]).inline_commands(), "`warp answer r1.5 stop`");
        assert_eq!(asking(&[]).inline_commands(), "");
    }
}
