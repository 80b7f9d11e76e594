//! The lines that stay.

use adapters::{agent::AgentUpdate, machine};
use driver::Shown;
use engine::{Record, Run, Workflow, is_deceptive, view::Asked};
use serde_json::{Value, json};

use crate::{colour::Colour, local_time};

/// The most of an agent's words that is shown, in characters.
const LONGEST: usize = 160;
/// How far what is not an event is indented, with its mark.
const INDENT: usize = 12;

/// Returns the lines for an event; none for one that is not worth any.
pub(super) fn recorded(record: &Record, run: &Run, workflow: &Workflow) -> Option<String> {
    let quiet = [
        "owner_changed",
        "edits_counted",
        "file_edited",
        "turn_started",
        "conversation_begun",
        "turn_ended",
        "attempt_started",
        // What these say has a line of its own.
        "noted",
    ];
    if quiet.contains(&record.event.as_str()) || workflow.turn_event.as_ref() == Some(&record.event) {
        return None;
    }
    let time = local_time::clock(record.at);
    let chunk = match run.chunk.acs.len() {
        0 => String::new(),
        chunks => format!(" {}/{chunks}", run.chunk.index),
    };
    let place = format!("{}{chunk}", record.phase);
    let about = match record.trip() {
        Some(trip) => format!("{} (redirected: {})", record.event, trip.reasons.join(", ")),
        None => record.event.to_string(),
    };
    Some(format!("{time}  {place:<24} {about}\n"))
}

/// Returns the lines for anything else; none for what only moves the clock.
pub(super) fn text(shown: Shown<'_>) -> Option<String> {
    match shown {
        Shown::Did(text) => Some(indented("  ", text)),
        Shown::Warned(text) => Some(indented("! ", text)),
        Shown::Notice(notice) => Some(indented("! ", &short(&notice.to_string()))),
        Shown::Agent(said) => agent(said).map(|line| indented("> ", &line)),
        Shown::Asked(asked) => {
            let until = asked.deadline.map(|until| format!(" (until {})", local_time::minute(until)));
            let commands: String = asked.command_lines().lines().map(|line| format!("  {line}\n")).collect();
            let until = until.unwrap_or_default();
            Some(indented("? ", &format!("{}\nanswer with{until}:\n{commands}", asked.question)))
        }
        // Further lines have the time of day alone.
        Shown::Header(header) => {
            let started = local_time::minute(machine::now());
            let rows = [("started", started.as_str())].into_iter().chain(header.rows());
            Some(rows.map(|(name, text)| indented("  ", &format!("{name:<8} {text}"))).collect())
        }
        Shown::Consent(asked) => Some(indented("? ", &asked.question)),
        Shown::Plain(text) => Some(text.lines().map(|line| plain(line) + "\n").collect()),
        Shown::Recorded { .. } | Shown::Tick => None,
    }
}

/// Says how whoever sits at the terminal answers.
pub(super) fn how_to_reply(asked: &Asked, lead: &str) -> String {
    let numbered = asked.options.iter().zip(1..).map(|(option, number)| format!("{number} {option}"));
    indented("  ", &format!("{lead}: {}", numbered.collect::<Vec<_>>().join(", ")))
}

/// Says that what was typed is no answer.
pub(super) fn no_reply(line: &str, asked: &Asked) -> String {
    indented("! ", &format!("`{}` is none of {}", line.trim(), asked.options.join(", ")))
}

fn agent(said: &AgentUpdate) -> Option<String> {
    let line = match said {
        AgentUpdate::Text(text) => text.clone(),
        AgentUpdate::Tool { name, about } => format!("{name}: {about}"),
        AgentUpdate::Session(_)
        | AgentUpdate::Model(_)
        | AgentUpdate::Usage(_)
        | AgentUpdate::Notice(_)
        | AgentUpdate::Tick(_) => return None,
    };
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then(|| short(&line))
}

fn short(line: &str) -> String {
    match line.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}

fn indented(mark: &str, text: &str) -> String {
    let mut lines = String::new();
    for (index, line) in text.trim_end().lines().enumerate() {
        let mark = if index == 0 { mark } else { "  " };
        lines.push_str(&format!("          {mark}{}\n", plain(line)));
    }
    lines
}

/// Breaks lines that are too wide for a terminal, between words where that is possible.
pub(super) fn wrapped(text: &str, width: usize) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let mut column = 0;
        for word in line.split_inclusive(' ') {
            let length = word.trim_end().chars().count();
            if column + length > width && column > INDENT {
                lines.truncate(lines.trim_end().len());
                lines.push_str(&format!("\n{:INDENT$}", ""));
                column = INDENT;
            }
            lines.push_str(word);
            column += word.chars().count();
        }
        lines.push('\n');
    }
    lines
}

/// Gives a line its colours: a phase, a question and a warning have one. `label` is what it begins with.
pub(super) fn painted(line: &str, label: &str) -> String {
    let Some(rest) = line.strip_prefix(label) else { return line.to_owned() };
    let is_event = rest.get(..10).is_some_and(|time| {
        time.bytes().zip(b"00:00:00  ").all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            other => byte == *other,
        })
    });
    if is_event {
        let (time, about) = rest.split_at(10);
        let phase = about.split(' ').next().unwrap_or_default();
        return format!("{label}{time}{}{}", Colour::Phase.paint(phase), &about[phase.len()..]);
    }
    let marked = |mark: char| rest.trim_start().strip_prefix(mark).is_some_and(|text| text.starts_with(' '));
    if rest.starts_with("          ") && (marked('?') || marked('!')) {
        return format!("{label}{}", Colour::Waiting.paint(rest));
    }
    line.to_owned()
}

/// Leaves out what would move the cursor or deceive otherwise.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !is_deceptive(*c)).collect()
}

/// Returns what is not an event as JSON.
pub(super) fn as_json(shown: Shown<'_>) -> Option<Value> {
    Some(match shown {
        Shown::Did(text) => json!({ "type": "did", "text": text }),
        Shown::Warned(text) => json!({ "type": "warned", "text": text }),
        Shown::Notice(notice) => {
            json!({ "type": "notice", "notice": notice, "text": notice.to_string() })
        }
        Shown::Agent(said) => json!({ "type": "agent", "said": said }),
        Shown::Asked(asked) => json!({ "type": "asked", "asked": asked }),
        Shown::Header(header) => json!({ "type": "header", "header": header }),
        // Whoever reads JSON is not asked at a terminal.
        Shown::Consent(_) | Shown::Recorded { .. } | Shown::Plain(_) | Shown::Tick => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_would_move_the_cursor_do_not() {
        let said = AgentUpdate::Text("a\u{1b}[2Jb\nc".to_owned());
        assert_eq!(text(Shown::Agent(&said)).as_deref(), Some("          > a[2Jb c\n"));
    }

    #[test]
    fn a_wide_line_is_broken_between_words() {
        assert_eq!(
            wrapped("            one two three\nfour\n", 20),
            "            one two\n            three\nfour\n"
        );
        assert_eq!(wrapped("          > aaaaaaaaaaaaaaa\n", 20), "          > aaaaaaaaaaaaaaa\n");
    }

    #[test]
    fn a_phase_a_question_and_a_warning_have_a_colour_and_nothing_else() {
        let phase = "\u{1b}[36mcoding\u{1b}[0m";
        assert_eq!(painted("12:00:01  coding 1/3    done", ""), format!("12:00:01  {phase} 1/3    done"));
        assert_eq!(painted("#3 12:00:01  coding", "#3 "), format!("#3 12:00:01  {phase}"));
        let asked = "          ? Which?";
        assert_eq!(painted(asked, ""), format!("\u{1b}[33m{asked}\u{1b}[0m"));
        for plain in ["          > ? no", "            more", "12:00  coding", ""] {
            assert_eq!(painted(plain, ""), plain);
        }
    }

    #[test]
    fn a_text_of_several_lines_has_one_mark() {
        assert_eq!(text(Shown::Warned("one\ntwo")).as_deref(), Some("          ! one\n            two\n"));
    }
}
