//! What a person types in answer to a question.

use std::{
    io::{self, BufRead as _},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, channel},
    },
    thread,
};

use adapters::clock::Bell;
use driver::Reply;
use engine::view::Asked;

/// Lines from the terminal, read from the first question on.
#[derive(Default)]
pub(super) struct Replies {
    lines: Option<Receiver<String>>,
    bell: Rung,
}

/// Who is woken by a line.
type Rung = Arc<Mutex<Option<Bell>>>;

impl Replies {
    /// Returns a line, if one was typed by now.
    pub(super) fn line(&mut self) -> Option<String> {
        let bell = &self.bell;
        self.lines.get_or_insert_with(|| listen(Arc::clone(bell))).try_recv().ok()
    }

    /// Rings a bell with every line.
    pub(super) fn ring(&mut self, bell: Bell) {
        *self.bell.lock().unwrap_or_else(PoisonError::into_inner) = Some(bell);
    }
}

fn listen(bell: Rung) -> Receiver<String> {
    let (send, lines) = channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
            if let Some(bell) = &*bell.lock().unwrap_or_else(PoisonError::into_inner) {
                bell.ring();
            }
        }
    });
    lines
}

/// Reads an option, by its name or its number, and what follows it as a note.
pub(super) fn parse(line: &str, asked: &Asked) -> Option<Reply> {
    let line = line.trim();
    let note = |rest: &str| Some(rest.trim().to_owned()).filter(|note| !note.is_empty());
    for option in &asked.options {
        if let Some(rest) = line.strip_prefix(option.as_str())
            && (rest.is_empty() || rest.starts_with(char::is_whitespace))
        {
            return Some(Reply { option: option.clone(), note: note(rest) });
        }
    }
    let (number, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let index = number.parse::<usize>().ok()?.checked_sub(1)?;
    Some(Reply { option: asked.options.get(index)?.clone(), note: note(rest) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_an_option_by_name_or_number_with_a_note() {
        let asked = Asked {
            id: "r1.4".to_owned(),
            question: "Which?".to_owned(),
            options: vec!["use the old one".to_owned(), "use".to_owned()],
            deadline: None,
        };
        let reply = |option: &str, note: Option<&str>| {
            Some(Reply { option: option.to_owned(), note: note.map(str::to_owned) })
        };
        assert_eq!(parse("use it", &asked), reply("use", Some("it")));
        assert_eq!(parse(" use the old one ", &asked), reply("use the old one", None));
        assert_eq!(parse("2 because it is there", &asked), reply("use", Some("because it is there")));
        assert_eq!(parse("useful", &asked), None);
        assert_eq!(parse("3", &asked), None);
    }
}
