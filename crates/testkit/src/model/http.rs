//! As much of HTTP/1.1 as model clients speak, on a stream of bytes.
//!
//! Written out here because a server library does not let a test cut a connection, or send one event and wait.

use std::io::{self, BufRead, Read as _, Write};

use super::answer::Answer;

/// How long the head of a request may be, in bytes.
const LONGEST_HEAD: u64 = 64 << 10;
/// How long a request's body may be, in bytes. Conversations with files in them are long.
const LONGEST_BODY: u64 = 64 << 20;

/// A request as it came.
pub(crate) struct Incoming {
    pub(crate) method: String,
    /// With what follows a question mark.
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether it is of version 1.0, which knows neither chunks nor further requests.
    is_old: bool,
}

impl Incoming {
    /// Reads the next request; none if the client has none left.
    pub(crate) fn read(stream: &mut impl BufRead, out: &mut impl Write) -> io::Result<Option<Self>> {
        let mut head = stream.by_ref().take(LONGEST_HEAD);
        let Some(first) = line(&mut head)? else { return Ok(None) };
        let mut words = first.split(' ').map(ToOwned::to_owned);
        let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next()) else {
            return Err(malformed("the first line has not three words"));
        };
        let mut headers = Vec::new();
        loop {
            let text = line(&mut head)?.ok_or_else(|| malformed("the head has no end"))?;
            if text.is_empty() {
                break;
            }
            let (name, value) = text.split_once(':').ok_or_else(|| malformed("a header has no colon"))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let is_old = version == "HTTP/1.0";
        let mut request = Self { method, target, headers, body: Vec::new(), is_old };
        if request.header("expect").is_some() {
            out.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        request.body = request.read_body(stream)?;
        Ok(Some(request))
    }

    /// Returns the path without what follows a question mark.
    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Tells whether the connection can be used again after the answer.
    pub(super) fn keeps_connection(&self) -> bool {
        !self.is_old && !self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    fn read_body(&self, stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
        if self.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            return read_chunks(stream);
        }
        let length = self.header("content-length").map_or(Ok(0), str::parse::<u64>);
        let length = length.map_err(|_| malformed("the length is no number"))?;
        read_exactly(stream, length)
    }
}

/// Puts an answer on the wire, piece by piece.
pub(super) struct Outgoing<'a, Out: Write> {
    out: &'a mut Out,
    /// What is sent with the next piece.
    head: String,
    framing: Framing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// The head says how long the body is, or the body ends with the connection.
    Plain,
    Chunks,
    /// There is to be a head only.
    HeadOnly,
}

impl<'a, Out: Write> Outgoing<'a, Out> {
    /// Prepares an answer; `length` is that of its body, if it comes in one piece. Nothing is sent before its first
    /// piece.
    pub(super) fn new(out: &'a mut Out, request: &Incoming, answer: &Answer, length: Option<usize>) -> Self {
        let reason = if answer.status < 400 { "OK" } else { "Refused" };
        let mut head = format!("HTTP/1.1 {} {reason}\r\n", answer.status);
        for (name, value) in &answer.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let framing = match length {
            Some(length) => {
                head += &format!("content-length: {length}\r\n");
                Framing::Plain
            }
            None if request.is_old => Framing::Plain,
            None => {
                head += "transfer-encoding: chunked\r\n";
                Framing::Chunks
            }
        };
        if !request.keeps_connection() {
            head += "connection: close\r\n";
        }
        head += "\r\n";
        Self { out, head, framing: if request.method == "HEAD" { Framing::HeadOnly } else { framing } }
    }

    /// Sends a piece at once.
    pub(super) fn piece(&mut self, text: &str) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.head);
        match self.framing {
            Framing::Plain => bytes += text,
            Framing::Chunks => bytes += &format!("{:x}\r\n{text}\r\n", text.len()),
            Framing::HeadOnly => {}
        }
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// Says that this was all.
    pub(super) fn end(self) -> io::Result<()> {
        let last = if self.framing == Framing::Chunks { "0\r\n\r\n" } else { "" };
        self.out.write_all((self.head + last).as_bytes())?;
        self.out.flush()
    }
}

/// Reads a line without its end; none at the end of the stream.
fn line(stream: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    stream.read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let text = String::from_utf8(bytes).map_err(|_| malformed("a line is not text"))?;
    let text = text.strip_suffix('\n').ok_or_else(|| malformed("a line has no end"))?;
    Ok(Some(text.strip_suffix('\r').unwrap_or(text).to_owned()))
}

fn read_chunks(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(stream)?.ok_or_else(|| malformed("a chunk is missing"))?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| malformed("a chunk has no length"))?;
        if body.len() as u64 + size > LONGEST_BODY {
            return Err(malformed("the body is too long"));
        }
        body.extend(read_exactly(stream, size)?);
        // After the last chunk there may be headers; after every other there is an empty line.
        while line(stream)?.is_some_and(|text| !text.is_empty()) {}
        if size == 0 {
            return Ok(body);
        }
    }
}

fn read_exactly(stream: &mut impl BufRead, length: u64) -> io::Result<Vec<u8>> {
    if length > LONGEST_BODY {
        return Err(malformed("the body is too long"));
    }
    let mut body = Vec::new();
    stream.by_ref().take(length).read_to_end(&mut body)?;
    if body.len() as u64 == length { Ok(body) } else { Err(malformed("the body is cut off")) }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
