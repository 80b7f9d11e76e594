//! The usage of an answer is the same whatever pieces it comes in, and no answer is too odd to be read.

use meter::{Api, Tokens, UsageReader};
use proptest::prelude::*;

const ESTIMATE: Tokens = Tokens { input: 7, output: 0, cache_read: 0, cache_write: 0 };

/// Reads an answer that comes in these pieces; returns what is known at its end and whether it said so itself.
fn read<'a>(api: Api, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Tokens, bool, Tokens) {
    let mut reader = UsageReader::new(api, ESTIMATE);
    for piece in pieces {
        reader.read(piece);
    }
    let (on_the_way, is_over) = (reader.tokens(), reader.is_over());
    reader.finish();
    assert!(reader.is_over());
    (on_the_way, is_over, reader.tokens())
}

fn api() -> impl Strategy<Value = Api> {
    prop_oneof![Just(Api::Messages), Just(Api::Responses), Just(Api::Chat)]
}

/// Makes one event, or something that looks like one.
fn event() -> impl Strategy<Value = String> {
    let count = 0..100_000_u64;
    prop_oneof![
        (count.clone(), count.clone()).prop_map(|(input, read)| format!(
            r#"{{"type":"message_start","message":{{"usage":{{"input_tokens":{input},"cache_read_input_tokens":{read},"output_tokens":1}}}}}}"#
        )),
        "[a-zé\"\\\\ ]{0,40}".prop_map(|text| format!(
            r#"{{"type":"content_block_delta","delta":{{"type":"text_delta","text":{}}}}}"#,
            serde_json::Value::from(text)
        )),
        count.clone().prop_map(|output| format!(r#"{{"type":"message_delta","usage":{{"output_tokens":{output}}}}}"#)),
        Just(r#"{"type":"message_stop"}"#.to_owned()),
        (count.clone(), count.clone()).prop_map(|(input, cached)| format!(
            r#"{{"type":"response.completed","response":{{"usage":{{"input_tokens":{input},"input_tokens_details":{{"cached_tokens":{cached}}},"output_tokens":3}}}}}}"#
        )),
        count.prop_map(|tokens| format!(r#"{{"choices":[],"usage":{{"prompt_tokens":{tokens},"completion_tokens":2}}}}"#)),
        Just(r#"{"choices":[{"delta":{"content":"some words"}}],"usage":null}"#.to_owned()),
        Just("[DONE]".to_owned()),
        Just(r#"{"type":"error","error":{"type":"overloaded_error","message":"no"}}"#.to_owned()),
        Just(r#"{"type":"error","code":"server_error","message":"no"}"#.to_owned()),
        "[ -~]{0,30}",
    ]
}

fn stream() -> impl Strategy<Value = String> {
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    (end, prop::collection::vec((any::<bool>(), event()), 0..12)).prop_map(|(end, events)| {
        let lines = events.into_iter().map(|(is_named, data)| {
            let name = if is_named { format!("event: x{end}") } else { String::new() };
            format!("{name}data: {data}{end}{end}")
        });
        lines.collect()
    })
}

proptest! {
    #[test]
    fn any_split_of_a_stream_gives_the_same_usage(
        api in api(),
        stream in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let bytes = stream.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let whole = read(api, [bytes]);
        prop_assert_eq!(read(api, cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]])), whole);
        prop_assert_eq!(read(api, bytes.chunks(1)), whole);
    }

    #[test]
    fn no_answer_is_too_odd_to_be_read(api in api(), bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let whole = read(api, [bytes.as_slice()]);
        prop_assert_eq!(read(api, bytes.chunks(3)), whole);
        prop_assert!(whole.2.input <= ESTIMATE.input);
    }

    #[test]
    fn an_answer_in_one_piece_is_the_same_in_many(api in api(), event in event(), size in 1_usize..40) {
        let text = format!("  {event}");
        prop_assert_eq!(read(api, text.as_bytes().chunks(size)), read(api, [text.as_bytes()]));
    }
}

#[test]
fn a_stream_that_says_nothing_of_usage_is_estimated() {
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"12345678\"}}]}\n\n";
    let (on_the_way, is_over, booked) = read(Api::Chat, [stream.as_bytes()]);
    assert_eq!(on_the_way, Tokens { output: 2, ..ESTIMATE });
    assert_eq!((is_over, booked), (false, on_the_way));
}

#[test]
fn counts_that_are_no_numbers_are_passed_over() {
    let stream = b"data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":\"many\"}}\n\n";
    assert_eq!(read(Api::Messages, [stream.as_slice()]).2, ESTIMATE);
    let most = u64::MAX;
    let most = format!("{{\"usage\":{{\"prompt_tokens\":{most},\"completion_tokens\":{most}}}}}");
    assert_eq!(read(Api::Chat, [most.as_bytes()]).2.total(), u64::MAX);
}
