//! What is kept of an output: bounded, whatever a program prints.

/// How much of each end of an output is kept.
pub(super) const HEAD_KEPT: usize = 1024 * 1024;
const TAIL_KEPT: usize = 64 * 1024;
/// How much of each end of one line is handed out. A longer one loses its middle.
const LINE_HEAD: usize = 1024 * 1024;
const LINE_TAIL: usize = 4 * 1024;

/// An output buffer that keeps the head and the tail.
#[derive(Debug)]
pub(super) struct OutputBuffer {
    head: Vec<u8>,
    tail: Vec<u8>,
    most_head: usize,
    most_tail: usize,
    cut: bool,
}

impl Default for OutputBuffer {
    fn default() -> Self {
        Self::new(HEAD_KEPT, TAIL_KEPT)
    }
}

impl OutputBuffer {
    fn new(most_head: usize, most_tail: usize) -> Self {
        Self { head: Vec::new(), tail: Vec::new(), most_head, most_tail, cut: false }
    }

    /// Keeps one line.
    fn line() -> Self {
        Self::new(LINE_HEAD, LINE_TAIL)
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        let room = self.most_head.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.tail.extend_from_slice(&bytes[room..]);
        if self.tail.len() > 2 * self.most_tail {
            self.tail.drain(..self.tail.len() - self.most_tail);
            self.cut = true;
        }
    }

    fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// Returns what was kept, and whether the middle is missing.
    pub(super) fn finish(mut self) -> (Vec<u8>, bool) {
        self.head.append(&mut self.tail);
        (self.head, self.cut)
    }
}

/// Tells the lines of an output apart, as it comes in.
#[derive(Debug)]
pub(super) struct Lines {
    /// The line that has not ended yet.
    line: OutputBuffer,
}

impl Default for Lines {
    fn default() -> Self {
        Self { line: OutputBuffer::line() }
    }
}

impl Lines {
    /// Takes what came in; `each` is given every line that has ended, without its end.
    pub(super) fn take(&mut self, bytes: &[u8], mut each: impl FnMut(Vec<u8>)) {
        let mut parts = bytes.split(|byte| *byte == b'\n');
        self.line.add(parts.next().unwrap_or_default());
        for part in parts {
            let whole = std::mem::replace(&mut self.line, OutputBuffer::line());
            each(whole.finish().0);
            self.line.add(part);
        }
    }

    /// Returns the last line, which needs no end; nothing if there is none.
    pub(super) fn rest(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::replace(&mut self.line, OutputBuffer::line());
        (!line.is_empty()).then(|| line.finish().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<Vec<u8>> {
        let (mut found, mut lines) = (Vec::new(), Lines::default());
        for part in text.chunks(1000) {
            lines.take(part, |line| found.push(line));
        }
        found.extend(lines.rest());
        found
    }

    #[test]
    fn lines_are_told_apart_and_the_last_needs_no_end() {
        assert_eq!(lines(b"a\n\nb"), [b"a".to_vec(), b"".to_vec(), b"b".to_vec()]);
        assert_eq!(lines(b"a\n"), [b"a".to_vec()]);
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn a_line_without_end_keeps_its_head_and_its_tail() {
        let mut text = vec![b'x'; 5 * LINE_HEAD];
        text.extend_from_slice(b"end\nnext");
        let lines = lines(&text);
        assert!(lines[0].len() < 2 * LINE_HEAD && lines[0].ends_with(b"xend"));
        assert_eq!(lines[1], b"next");
    }
}
