//! What a provider keeps of requests, and what one costs that begins like another.
//!
//! Anthropic's rule: a request marks places, and everything before a mark is kept for five minutes, from its last use on. A later request to
//! the same model reads what is the same from its beginning up to a mark of an earlier one, where that lies at most twenty
//! blocks before a mark of its own. Tools come first, then the system prompt, then the messages; how hard the model is to think
//! counts with the messages.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash as _, Hasher as _},
    time::{Duration, Instant},
};

use serde_json::Value;

/// How long what nobody uses is kept.
const LIFE: Duration = Duration::from_secs(5 * 60);
/// How many blocks before a mark an earlier one is looked for.
const LOOKED_BACK: usize = 20;
/// The client's line of accounts, which the provider reads as a header.
const ACCOUNTS: &str = "x-anthropic-billing-header:";

/// A piece of a request.
pub(super) struct Block {
    text: String,
    is_marked: bool,
}

/// How the bytes of a request are paid for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Paid {
    pub(super) read: usize,
    pub(super) written: usize,
    pub(super) plain: usize,
}

/// What a provider keeps.
#[derive(Default)]
pub(super) struct Cache {
    /// By model and by all that stands before a mark: when it was used last.
    kept: HashMap<(String, u64), Instant>,
}

impl Block {
    fn new(value: &Value) -> Self {
        let mut value = value.clone();
        let mark = value.as_object_mut().and_then(|object| object.remove("cache_control"));
        Self { text: value.to_string(), is_marked: mark.is_some_and(|mark| !mark.is_null()) }
    }
}

/// Takes a request apart, in the order in which the provider reads it.
pub(super) fn blocks(body: &Value) -> Vec<Block> {
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut all: Vec<Block> = items(&body["tools"]).iter().map(Block::new).collect();
    match &body["system"] {
        Value::String(_) => all.push(Block::new(&body["system"])),
        system @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            let is_accounts =
                |part: &Value| part["text"].as_str().is_some_and(|text| text.starts_with(ACCOUNTS));
            all.extend(items(system).iter().filter(|part| !is_accounts(part)).map(Block::new));
        }
    }
    let thinking = ["thinking", "tool_choice", "output_config"].map(|name| body[name].to_string());
    all.push(Block { text: thinking.concat(), is_marked: false });
    for message in items(&body["messages"]) {
        let role = Block::new(&message["role"]);
        match &message["content"] {
            Value::Array(parts) => all.extend(parts.iter().map(|part| {
                let block = Block::new(part);
                Block { text: role.text.clone() + &block.text, ..block }
            })),
            content @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_)) => {
                all.push(Block { text: role.text.clone() + &content.to_string(), is_marked: false })
            }
        }
    }
    all
}

/// Returns how many bytes two requests have in common from their beginning.
pub(super) fn in_common(one: &[Block], other: &[Block]) -> usize {
    let bytes = |blocks: &[Block]| blocks.iter().flat_map(|block| block.text.bytes()).collect::<Vec<u8>>();
    bytes(one).iter().zip(bytes(other).iter()).take_while(|(one, other)| one == other).count()
}

impl Cache {
    /// Takes a request; returns how it is paid for.
    pub(super) fn ask(&mut self, model: &str, blocks: &[Block], at: Instant) -> Paid {
        let mut hasher = DefaultHasher::new();
        let prefixes: Vec<(String, u64)> = blocks
            .iter()
            .map(|block| {
                block.text.hash(&mut hasher);
                (model.to_owned(), hasher.finish())
            })
            .collect();
        let marks: Vec<usize> = (0..blocks.len()).filter(|index| blocks[*index].is_marked).collect();
        let is_kept = |index: &usize| {
            self.kept.get(&prefixes[*index]).is_some_and(|used| at.saturating_duration_since(*used) < LIFE)
        };
        let found = marks
            .iter()
            .filter_map(|mark| (mark.saturating_sub(LOOKED_BACK)..=*mark).rev().find(is_kept))
            .max();
        for index in marks.iter().copied().chain(found) {
            self.kept.insert(prefixes[index].clone(), at);
        }
        let length = |blocks: &[Block]| blocks.iter().map(|block| block.text.len()).sum::<usize>();
        let read = found.map_or(0, |index| index + 1);
        let written = marks.last().map_or(read, |mark| (mark + 1).max(read));
        Paid {
            read: length(&blocks[..read]),
            written: length(&blocks[read..written]),
            plain: length(&blocks[written..]),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A request whose last message is marked.
    fn request(system: &str, said: &[&str]) -> Vec<Block> {
        let last = said.len().saturating_sub(1);
        let message = |(index, text): (usize, &&str)| {
            let mark = if index == last { json!({ "type": "ephemeral" }) } else { Value::Null };
            json!({ "role": "user", "content": [{ "type": "text", "text": text, "cache_control": mark }] })
        };
        let messages: Vec<Value> = said.iter().enumerate().map(message).collect();
        let system = json!([{ "type": "text", "text": system, "cache_control": { "type": "ephemeral" } }]);
        blocks(&json!({ "tools": [{ "name": "Read" }], "system": system, "messages": messages }))
    }

    #[test]
    fn what_begins_like_an_earlier_request_is_read_until_it_is_forgotten() {
        let (mut cache, now) = (Cache::default(), Instant::now());
        let first = cache.ask("m", &request("be good", &["one"]), now);
        assert_eq!((first.read, first.plain), (0, 0));
        let second = cache.ask("m", &request("be good", &["one", "two"]), now + LIFE / 2);
        assert_eq!(second.read, first.written, "all of the first request");
        let other = cache.ask("m", &request("be better", &["one", "two"]), now + LIFE / 2);
        assert_eq!(other.read, 0, "another system prompt");
        assert_eq!(cache.ask("n", &request("be good", &["one"]), now + LIFE / 2).read, 0, "another model");
        let fresh = cache.ask("m", &request("be good", &["three"]), now + LIFE / 2);
        assert!(fresh.read > 0 && fresh.read < first.written, "tools and system prompt: {fresh:?}");
        let late = cache.ask("m", &request("be good", &["one", "two", "three"]), now + LIFE * 2);
        assert_eq!(late.read, 0, "forgotten");
    }

    #[test]
    fn accounts_of_the_client_are_not_part_of_what_is_kept() {
        let with =
            |accounts: &str| blocks(&json!({ "system": [{ "text": accounts }, { "text": "be good" }] }));
        let (one, other) = (with("x-anthropic-billing-header: a=1"), with("x-anthropic-billing-header: a=2"));
        assert_eq!(one.len(), other.len());
        assert_eq!(in_common(&one, &other), one.iter().map(|block| block.text.len()).sum::<usize>());
    }
}
