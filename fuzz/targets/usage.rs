//! The usage of an answer, read from a stream in pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meter::{Api, Tokens, UsageReader};

const ESTIMATE: Tokens = Tokens { input: 7, output: 0, cache_read: 0, cache_write: 0 };

fn read(api: Api, answer: &[u8], size: usize) -> (Tokens, bool, Tokens) {
    let mut reader = UsageReader::new(api, ESTIMATE);
    answer.chunks(size).for_each(|piece| reader.read(piece));
    let (on_the_way, is_over) = (reader.tokens(), reader.is_over());
    reader.finish();
    assert!(reader.is_over());
    (on_the_way, is_over, reader.tokens())
}

fuzz_target!(|input: &[u8]| {
    let [size, answer @ ..] = input else { return };
    for api in [Api::Messages, Api::Responses, Api::Chat] {
        let whole = read(api, answer, usize::MAX);
        assert_eq!(read(api, answer, usize::from(*size).max(1)), whole);
    }
});
