//! A client with nothing to hide: what was sent and what came back, and git beside it.

use std::{
    io::{self, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;
use testkit::agents::output;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a test waits for an answer that never comes.
const SHORT: Duration = Duration::from_millis(300);

/// Somebody with a token.
pub(crate) struct Client {
    authority: String,
    prefix: String,
    pub(crate) token: String,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Answer {
    /// Returns the body, and panics if the status is another.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.body
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

impl Client {
    /// Talks to a server at an address, with a path before all others.
    pub(crate) fn new(url: &str, token: &str) -> Self {
        let rest = url.strip_prefix("http://").unwrap();
        let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = if prefix.is_empty() { String::new() } else { format!("/{prefix}") };
        Self { authority: authority.to_owned(), prefix, token: token.to_owned() }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.with("GET", path, &[], None)
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.with("DELETE", path, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.with("POST", path, &[], Some(body))
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Answer {
        self.with("PUT", path, &[], Some(body))
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> Answer {
        self.with("PATCH", path, &[], Some(body))
    }

    pub(crate) fn with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        self.try_with(method, path, headers, body).unwrap()
    }

    pub(crate) fn try_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> io::Result<Answer> {
        self.send(method, path, headers, body, PATIENCE)
    }

    /// Asks and waits a moment only.
    pub(crate) fn impatient(&self, method: &str, path: &str) -> io::Result<Answer> {
        self.send(method, path, &[], None, SHORT)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
        patience: Duration,
    ) -> io::Result<Answer> {
        let mut stream = TcpStream::connect(&self.authority)?;
        stream.set_read_timeout(Some(patience))?;
        let body = body.map(ToString::to_string).unwrap_or_default();
        let mut text = format!(
            "{method} {}{path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: token {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
            self.prefix,
            self.authority,
            self.token,
            body.len()
        );
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{text}\r\n{body}").as_bytes())?;
        let mut said = Vec::new();
        stream.read_to_end(&mut said)?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let (head, text) = said.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        let status = head.get(9..12).and_then(|code| code.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
        let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        let body = serde_json::from_str(text).unwrap_or_default();
        Ok(Answer { status, headers, text: text.to_owned(), body })
    }
}

/// Receives webhooks and says yes to each.
pub(crate) struct Receiver {
    port: u16,
}

impl Receiver {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        // The thread ends with the program; each connection is short.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream);
            }
        });
        Self { port }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer)?;
        seen.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&seen);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or_default();
            if body.len() >= length {
                break;
            }
        }
        if count == 0 {
            break;
        }
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
}

/// Clones a repository into a temporary directory.
pub(crate) fn clone(url: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let said = git(directory.path(), &["clone", "--quiet", url, "."]);
    assert!(said.is_ok(), "{said:?}");
    directory
}

/// Commits a file on a branch and pushes it; returns the commit.
pub(crate) fn commit_and_push(
    directory: &Path,
    branch: &str,
    file: &str,
    text: &str,
    message: &str,
) -> String {
    let refused = push(directory, branch, file, text, message);
    assert_eq!(refused, "");
    git(directory, &["rev-parse", "HEAD"]).unwrap()
}

/// Does the same; returns what git said if the push was refused.
pub(crate) fn push(directory: &Path, branch: &str, file: &str, text: &str, message: &str) -> String {
    git(directory, &["checkout", "--quiet", "-B", branch]).unwrap();
    std::fs::write(directory.join(file), text).unwrap();
    git(directory, &["add", "--all"]).unwrap();
    git(directory, &["commit", "--quiet", "-m", message]).unwrap();
    git(directory, &["push", "--quiet", "origin", branch]).err().unwrap_or_default()
}

/// Runs git without anything of the person who runs the tests; returns what it said, or how it failed.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Ada").env(format!("GIT_{role}_EMAIL"), "ada@localhost");
    }
    let output = output(command, PATIENCE);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}
