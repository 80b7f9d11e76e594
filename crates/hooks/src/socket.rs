//! Hooks by a socket: an agent behind walls sees no journal, so its hooks ask the driver.
//!
//! A call is one line of JSON (token, what is wanted, length), then the input as it is; the answer is one line of JSON.
//! Wanted is the answer to a hook, or that to a tool which the agent has called. Whatever goes wrong, a gate refuses, an
//! observer leaves a note, and a tool fails. [`Server`] is the driver's side.

mod server;

use std::{
    env,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::mpsc,
    thread,
    time::Duration,
};

use adapters::agent::{HOOK_SOCKET, HOOK_TOKEN};
use project::tools::Called;
use serde::{Deserialize, Serialize};

pub use server::{Server, ServerError};

use crate::{Answer, Event, failed};

/// How long a hook waits for its answer: less than a client waits for its hook, because that one would then let the
/// agent go on.
const PATIENCE: Duration = Duration::from_secs(45);
/// How long a tool waits for its answer: before an event is taken, the project's own checks may have to run.
const TOOL_PATIENCE: Duration = Duration::from_secs(30 * 60);
/// The longest line that is read, in bytes.
const LONGEST_LINE: u64 = 256 * 1024;

/// Where hooks are answered.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    socket: PathBuf,
    token: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Call {
    token: String,
    #[serde(flatten)]
    wants: CallTarget,
    /// How many bytes of input follow.
    length: usize,
}

/// Target of a call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CallTarget {
    Hook(String),
    Tool(String),
}

#[derive(Debug, Serialize, Deserialize)]
struct Reply {
    exit: u8,
    stdout: String,
    stderr: String,
}

impl Address {
    /// Returns the address that the environment names.
    pub(crate) fn from_environment() -> Option<Self> {
        let socket = env::var_os(HOOK_SOCKET).filter(|socket| !socket.is_empty())?;
        Some(Self { socket: socket.into(), token: env::var(HOOK_TOKEN).unwrap_or_default() })
    }
}

/// Asks whoever listens at an address.
pub(crate) fn forward(address: &Address, event: Event, input: &[u8]) -> Answer {
    if !event.is_driven() {
        return Answer::silent();
    }
    match call_in_time(address, CallTarget::Hook(event.name().to_owned()), input, PATIENCE) {
        Ok(answer) => answer,
        Err(error) => failed(event, &format!("warp's driver does not answer the hook ({error})")),
    }
}

/// Asks whoever listens at an address about a tool.
pub(crate) fn forward_tool(address: &Address, tool: &str, input: &[u8]) -> io::Result<Called> {
    let answer = call_in_time(address, CallTarget::Tool(tool.to_owned()), input, TOOL_PATIENCE)?;
    Ok(match answer.code {
        0 => Called::taken(answer.out),
        _ => Called::refused(answer.err),
    })
}

fn call_in_time(
    address: &Address,
    wants: CallTarget,
    input: &[u8],
    patience: Duration,
) -> io::Result<Answer> {
    let (tell, told) = mpsc::channel();
    let (address, input) = (address.clone(), input.to_vec());
    // In a thread, because connecting has no deadline of its own. Nobody listens any more once the time is up.
    thread::spawn(move || tell.send(call(&address, wants, &input, patience)));
    let answered = told.recv_timeout(patience);
    answered.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time")))
}

fn call(address: &Address, wants: CallTarget, input: &[u8], patience: Duration) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(&address.socket)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    let call = Call { token: address.token.clone(), wants, length: input.len() };
    send(&mut stream, &call)?;
    // Whoever refuses the call does not read the input; the reply says why.
    let written = stream.write_all(input);
    let Reply { exit, stdout, stderr } = match (receive(&mut BufReader::new(stream)), written) {
        (Ok(reply), _) => reply,
        (Err(_), Err(error)) | (Err(error), Ok(())) => return Err(error),
    };
    match exit {
        0 | 2 => Ok(Answer { code: exit, out: stdout, err: stderr }),
        _ => Err(io::Error::other(stderr)),
    }
}

fn send(stream: &mut UnixStream, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Reads one line of JSON.
fn receive<T: for<'a> Deserialize<'a>>(reader: &mut BufReader<UnixStream>) -> io::Result<T> {
    let mut line = Vec::new();
    reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    if !line.ends_with(b"\n") {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the line has no end"));
    }
    Ok(serde_json::from_slice(&line)?)
}
