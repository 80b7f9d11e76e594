//! What decisions look like in Telegram, and what comes back from there means. Nothing here speaks to anybody.

use serde::Deserialize as _;
use serde_json::Value;

use super::{
    CLICK,
    types::{ButtonPress, TextMessage, Update, User},
};
use crate::port::{Message, PersonAction, Question};

/// The most that a button may carry, in bytes.
const MOST_DATA: usize = 64;
/// The longest text of a button, and how much fits into one row, in characters.
const LONGEST_BUTTON: usize = 60;
const ROW: usize = 24;
/// The longest text that a click is answered with, in characters.
const LONGEST_TOAST: usize = 190;

/// Returns a question's text.
pub(super) fn question(question: &Question) -> String {
    let Question { id, about, question, options, otherwise } = question;
    format!(
        "{about}\n\n{question}\n\nPress a button, or reply to this message with one of: {}\n{otherwise}\n({id})",
        options.join(", ")
    )
}

/// Returns the text that a question has once it is closed.
pub(super) fn closed(question: &Question, words: &str) -> String {
    format!("{}\n\n{}\n\n=> {words}", question.about, question.question)
}

/// Returns rows of buttons, each with its text and what it carries: decision and option, because its text may be long.
pub(super) fn buttons(question: &Question) -> Vec<Vec<(String, String)>> {
    let mut rows: Vec<Vec<(String, String)>> = Vec::new();
    let mut width = 0;
    for (number, option) in question.options.iter().enumerate() {
        let data = format!("{}:{number}", question.id);
        if data.len() > MOST_DATA {
            return Vec::new();
        }
        let text: String = option.chars().take(LONGEST_BUTTON).collect();
        let length = text.chars().count();
        match rows.last_mut().filter(|_| width + length <= ROW) {
            Some(row) => row.push((text, data)),
            None => {
                rows.push(vec![(text, data)]);
                width = 0;
            }
        }
        width += length;
    }
    rows
}

/// Returns what is said to whoever has pressed a button.
pub(super) fn toast(words: &str) -> String {
    words.chars().take(LONGEST_TOAST).collect()
}

/// Reads an update. One that cannot be read means nothing, but has its number, so that it does not come again and again.
pub(super) fn message(update: &Value) -> Option<Message> {
    let number = update.get("update_id")?.as_i64()?;
    let found = match Update::deserialize(update) {
        Ok(Update { callback_query: Some(query), .. }) => pressed(number, &query),
        Ok(Update { message: Some(written), .. }) => Some(wrote(number, written)),
        Ok(_) | Err(_) => None,
    };
    let nothing = || Message {
        number,
        place: place(update),
        from: String::new(),
        ticket: String::new(),
        what: PersonAction::Other,
    };
    Some(found.unwrap_or_else(nothing))
}

/// Returns the chat of an update that cannot be read otherwise.
fn place(update: &Value) -> String {
    let message = ["message", "callback_query"].iter().find_map(|kind| update.get(kind));
    let chat =
        message.and_then(|message| message.pointer("/chat/id").or(message.pointer("/message/chat/id")));
    chat.and_then(Value::as_i64).map(|id| id.to_string()).unwrap_or_default()
}

fn pressed(number: i64, query: &ButtonPress) -> Option<Message> {
    let chat = query.message.as_ref()?.chat.id;
    let chosen = query.data.as_deref().and_then(|data| {
        let (decision, option) = data.rsplit_once(':')?;
        Some(PersonAction::Chose { decision: decision.to_owned(), option: option.parse().ok()? })
    });
    Some(Message {
        number,
        place: chat.to_string(),
        from: name(&query.from),
        ticket: format!("{CLICK}{}", query.id),
        what: chosen.unwrap_or(PersonAction::Other),
    })
}

fn wrote(number: i64, written: TextMessage) -> Message {
    let to = written.reply_to_message.map(|message| message.message_id.to_string());
    let what = match written.text {
        Some(text) => PersonAction::Wrote { to, text },
        None => PersonAction::Other,
    };
    Message {
        number,
        place: written.chat.id.to_string(),
        from: written.from.as_ref().map(name).unwrap_or_default(),
        ticket: written.message_id.to_string(),
        what,
    }
}

fn name(user: &User) -> String {
    match &user.last_name {
        Some(last) => format!("{} {last}", user.first_name),
        None => user.first_name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(options: &[&str]) -> Question {
        Question {
            id: "k3f9x2m1qa.17".to_owned(),
            about: "[warp-drive] decision -- for #42 in demo".to_owned(),
            question: "Which?".to_owned(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            otherwise: "The run waits for it.".to_owned(),
        }
    }

    #[test]
    fn short_options_share_a_row_and_long_ones_have_their_own() {
        let long = "x".repeat(80);
        let rows = buttons(&asked(&["yes", "no", &long, "skip"]));
        let texts: Vec<Vec<usize>> =
            rows.iter().map(|row| row.iter().map(|(text, _)| text.len()).collect()).collect();
        assert_eq!(texts, [vec![3, 2], vec![60], vec![4]]);
        assert_eq!(rows[2][0].1, "k3f9x2m1qa.17:3");
        let mut odd = asked(&["yes"]);
        odd.id = "x".repeat(63);
        assert!(buttons(&odd).is_empty());
    }

    #[test]
    fn a_button_means_its_decision_and_option() {
        let update = json!({ "update_id": 7, "callback_query": {
            "id": "q1", "chat_instance": "c", "data": "k3f9x2m1qa.17:2",
            "from": { "id": 5, "is_bot": false, "first_name": "Ann", "last_name": "Lee" },
            "message": { "message_id": 3, "date": 1, "chat": { "id": 99, "type": "private" } },
        } });
        let message = message(&update).unwrap();
        assert_eq!((message.place.as_str(), message.from.as_str()), ("99", "Ann Lee"));
        assert_eq!(message.what, PersonAction::Chose { decision: "k3f9x2m1qa.17".to_owned(), option: 2 });
    }

    #[test]
    fn an_update_that_nobody_knows_is_passed_over() {
        let odd = json!({ "update_id": 8, "something_new": { "a": 1 } });
        assert_eq!(message(&odd).unwrap().what, PersonAction::Other);
        let broken = json!({ "update_id": 9, "message": { "chat": { "id": 4 } } });
        let message_ = message(&broken).unwrap();
        assert_eq!((message_.number, message_.place.as_str(), message_.what), (9, "4", PersonAction::Other));
        assert_eq!(message(&json!({ "no": "number" })), None);
    }
}
