//! Server-sent events, found in a stream that comes in pieces of any size.
//!
//! Only the data of an event is looked at: every API that is metered repeats the event's name in it. What is longer than
//! the bound is left out, and reading goes on behind it.

/// The longest event that is read, in bytes. The last event of a response repeats all of it.
const LONGEST: usize = 16 * 1024 * 1024;

/// The pieces of an event that is not whole yet.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    /// Whether the present line is not empty.
    has_line: bool,
    /// The data of the present event, its lines joined.
    data: Vec<u8>,
    has_data: bool,
    /// Whether the present event is too long to be read.
    is_too_long: bool,
    /// Whether the last byte ended a line that a line feed may still belong to.
    after_return: bool,
}

impl Events {
    /// Takes the next piece of the stream, and calls `each` with the data of every event that is whole with it.
    pub(crate) fn read(&mut self, mut piece: &[u8], mut each: impl FnMut(&[u8])) {
        while !piece.is_empty() {
            if std::mem::take(&mut self.after_return) && piece[0] == b'\n' {
                piece = &piece[1..];
                continue;
            }
            let end = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.add(&piece[..end.unwrap_or(piece.len())]);
            let Some(end) = end else { return };
            self.after_return = piece[end] == b'\r';
            self.end_line(&mut each);
            piece = &piece[end + 1..];
        }
    }

    /// Takes the end of the stream as the end of its last event: some servers leave out the empty line.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(&[u8])) {
        self.end_line(&mut each);
        self.end_line(&mut each);
    }

    fn add(&mut self, part: &[u8]) {
        self.has_line |= !part.is_empty();
        if self.line.len() + self.data.len() + part.len() > LONGEST {
            self.is_too_long = true;
            (self.line, self.data) = (Vec::new(), Vec::new());
        }
        if !self.is_too_long {
            self.line.extend_from_slice(part);
        }
    }

    fn end_line(&mut self, each: &mut impl FnMut(&[u8])) {
        if !std::mem::take(&mut self.has_line) {
            if self.has_data && !self.is_too_long {
                each(&self.data);
            }
            self.data.clear();
            (self.has_data, self.is_too_long) = (false, false);
            return;
        }
        if let Some(value) = self.line.strip_prefix(b"data:") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.has_data = true;
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<String> {
        let (mut events, mut found) = (Events::default(), Vec::new());
        for piece in pieces {
            events.read(piece, |data| found.push(String::from_utf8_lossy(data).into_owned()));
        }
        events.finish(|data| found.push(String::from_utf8_lossy(data).into_owned()));
        found
    }

    #[test]
    fn data_is_found_whatever_ends_a_line() {
        for end in ["\n", "\r\n", "\r"] {
            let text =
                "event: a\ndata: one\ndata:two\n\n: a comment\n\nid: 5\ndata: three\n\n".replace('\n', end);
            assert_eq!(events(&[text.as_bytes()]), ["one\ntwo", "three"], "{end:?}");
        }
    }

    #[test]
    fn an_event_that_is_too_long_is_left_out_and_the_next_is_found() {
        let long = vec![b'x'; LONGEST / 2];
        assert_eq!(events(&[b"data: ", &long, &long, &long, b"\nid: 1\n\ndata: next\n\n"]), ["next"]);
        assert_eq!(events(&[b"data: a\ndata: ", &long, &long, b"x\r\n\r", b"\ndata: next\n"]), ["next"]);
    }

    #[test]
    fn the_last_event_needs_no_empty_line() {
        assert_eq!(events(&[b"data: {}"]), ["{}"]);
    }
}
