//! What a request asks for, read before it goes out: its model, and what it uses at least and at most.

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::{
    Api, Opening, Tokens,
    length::{self, TextLength},
};

/// The most tokens that a model writes for a request that names no limit of its own.
const LONGEST_ANSWER: u64 = 128_000;
/// The most tokens that a model reads, for a request that does not carry all of its input.
const LONGEST_CONTEXT: u64 = 1_000_000;

/// A request, as far as it is looked at.
#[derive(Debug, Deserialize)]
struct Body {
    model: Option<String>,
    system: Option<TextLength>,
    instructions: Option<TextLength>,
    messages: Option<TextLength>,
    input: Option<TextLength>,
    tools: Option<TextLength>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    max_output_tokens: Option<u64>,
    /// How many answers a chat wants.
    n: Option<u64>,
}

/// Reads what a request asks for. One that cannot be read is some model's, and as long as its bytes.
pub(crate) fn read(api: Api, body: &[u8]) -> Opening {
    let Ok(read) = serde_json::from_slice::<Body>(body) else {
        let estimate = Tokens { input: length::tokens(body.len() as u64), ..Tokens::default() };
        let bound = Tokens { input: LONGEST_CONTEXT, output: LONGEST_ANSWER, ..Tokens::default() };
        return Opening { api, model: String::new(), estimate, bound };
    };
    let output = longest_answer(api, &read);
    let parts = [read.system, read.instructions, read.messages, read.input, read.tools];
    let length = TextLength(parts.into_iter().flatten().map(|part| part.0).sum());
    let estimate = Tokens { input: length.tokens(), ..Tokens::default() };
    // No token is shorter than a byte.
    let own = body.len() as u64;
    let input = if refers(body) { own.max(LONGEST_CONTEXT) } else { own };
    let bound = Tokens { input, output, ..Tokens::default() };
    Opening { api, model: read.model.unwrap_or_default(), estimate, bound }
}

fn longest_answer(api: Api, body: &Body) -> u64 {
    match api {
        Api::Messages => body.max_tokens.unwrap_or(LONGEST_ANSWER),
        Api::Responses => body.max_output_tokens.unwrap_or(LONGEST_ANSWER),
        Api::Chat => {
            let each = body.max_completion_tokens.or(body.max_tokens).unwrap_or(LONGEST_ANSWER);
            each.saturating_mul(body.n.unwrap_or(1).max(1))
        }
    }
}

/// Fields that refer to input which the provider stores or fetches.
#[derive(Debug, Deserialize)]
struct StoredInput {
    previous_response_id: Option<IgnoredAny>,
    conversation: Option<IgnoredAny>,
    prompt: Option<IgnoredAny>,
    messages: Option<FileReference>,
    input: Option<FileReference>,
}

/// Tells whether the length of a request says nothing about how much input it has.
fn refers(body: &[u8]) -> bool {
    let Ok(request) = serde_json::from_slice::<StoredInput>(body) else { return true };
    let kept = [request.previous_response_id, request.conversation, request.prompt];
    let parts = [request.messages, request.input];
    kept.iter().any(Option::is_some) || parts.into_iter().flatten().any(|part| part.0)
}

/// Whether a message refers to a file or image by id or URL.
#[derive(Clone, Copy, Debug)]
struct FileReference(bool);

impl<'de> Deserialize<'de> for FileReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Search::Anything.deserialize(deserializer)
    }
}

/// What a value is looked at for, by the field that it is in.
#[derive(Clone, Copy)]
enum Search {
    Anything,
    /// A text is an address, or the thing itself.
    Address,
    /// A text is a name.
    Name,
}

impl Search {
    /// Returns how a field is looked at; none if it holds what a tool was called with.
    fn field(key: &str) -> Option<Self> {
        match key {
            "file_id" | "file_url" => Some(Self::Name),
            "url" | "image_url" => Some(Self::Address),
            "input" | "arguments" => None,
            _ => Some(Self::Anything),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Search {
    type Value = FileReference;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<FileReference, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Search {
    type Value = FileReference;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<FileReference, E> {
        Ok(FileReference(false))
    }

    fn visit_i64<E>(self, _: i64) -> Result<FileReference, E> {
        Ok(FileReference(false))
    }

    fn visit_u64<E>(self, _: u64) -> Result<FileReference, E> {
        Ok(FileReference(false))
    }

    fn visit_f64<E>(self, _: f64) -> Result<FileReference, E> {
        Ok(FileReference(false))
    }

    fn visit_unit<E>(self) -> Result<FileReference, E> {
        Ok(FileReference(false))
    }

    fn visit_str<E>(self, text: &str) -> Result<FileReference, E> {
        Ok(FileReference(match self {
            Self::Anything => false,
            Self::Address => !text.starts_with("data:"),
            Self::Name => true,
        }))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<FileReference, A::Error> {
        let mut found = false;
        while let Some(item) = items.next_element_seed(self)? {
            found |= item.0;
        }
        Ok(FileReference(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<FileReference, A::Error> {
        let mut found = false;
        while let Some(key) = fields.next_key::<String>()? {
            match Self::field(&key) {
                Some(search) => found |= fields.next_value_seed(search)?.0,
                None => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(FileReference(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(api: Api, body: &str) -> (u64, u64) {
        let bound = read(api, body.as_bytes()).bound;
        (bound.input, bound.output)
    }

    #[test]
    fn a_request_is_read_as_far_as_it_can_be() {
        let body = br#"{"model":"m","system":"12345678","messages":[{"role":"user","content":"1234"}],"stream":true}"#;
        let opening = read(Api::Messages, body);
        assert_eq!((opening.model.as_str(), opening.estimate.input), ("m", 3));
        let unreadable = read(Api::Messages, b"(\xb5/\xfd compressed");
        assert_eq!((unreadable.model.as_str(), unreadable.estimate.input), ("", 4));
        assert_eq!((unreadable.bound.input, unreadable.bound.output), (LONGEST_CONTEXT, LONGEST_ANSWER));
    }

    #[test]
    fn an_answer_is_at_most_as_long_as_the_request_says_in_the_words_of_its_api() {
        for (api, body, output) in [
            (Api::Messages, r#"{"max_tokens":500}"#, 500),
            (Api::Messages, r#"{"max_output_tokens":5}"#, LONGEST_ANSWER),
            (Api::Responses, r#"{"max_output_tokens":700,"max_tokens":5}"#, 700),
            (Api::Responses, r#"{"max_output_tokens":null}"#, LONGEST_ANSWER),
            (Api::Chat, r#"{"max_tokens":90}"#, 90),
            (Api::Chat, r#"{"max_completion_tokens":80,"max_tokens":9}"#, 80),
            (Api::Chat, r#"{"max_tokens":90,"n":3}"#, 270),
            (Api::Chat, "{}", LONGEST_ANSWER),
            (Api::Messages, r#"{"max_tokens":1,"max_tokens":900}"#, LONGEST_ANSWER),
            (Api::Messages, r#"{"max_tokens":-1}"#, LONGEST_ANSWER),
            (Api::Messages, r#"{"max_tokens":"7"}"#, LONGEST_ANSWER),
        ] {
            assert_eq!(bound(api, body).1, output, "{body}");
        }
    }

    #[test]
    fn input_is_at_most_a_token_for_each_byte_unless_some_of_it_is_elsewhere() {
        for body in [
            r#"{"input":"previous_response_id"}"#,
            r#"{"input":[{"content":[{"image_url":"data:image/png;base64,AAAA"}]}],"previous_response_id":null}"#,
            r#"{"messages":[{"content":[{"type":"tool_use","name":"WebFetch","input":{"url":"https://a.test"}}]}],"tools":[{"name":"t","input_schema":{"properties":{"url":{"type":"string"}}}}]}"#,
            r#"{"input":[{"type":"function_call","arguments":"{\"file_id\":\"https://a.test\"}"}]}"#,
            r#"{"messages":[{"content":[{"type":"image","source":{"type":"base64","data":"https"}}]}]}"#,
        ] {
            assert_eq!(bound(Api::Responses, body).0, body.len() as u64, "{body}");
        }
        for body in [
            r#"{"input":"x","previous_response_id":"r1"}"#,
            r#"{"input":"x","conversation":{"id":"c"}}"#,
            r#"{"messages":[{"content":[{"type":"file","file":{"file_id":"f"}}]}]}"#,
            r#"{"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://a.test/b.png"}}]}]}"#,
            r#"{"messages":[{"content":[{"type":"document","source":{"type":"url","url":"https://a.test"}}]}]}"#,
        ] {
            assert_eq!(bound(Api::Chat, body).0, LONGEST_CONTEXT, "{body}");
        }
    }
}
