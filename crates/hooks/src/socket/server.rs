//! The driver's side of the socket: each call is answered as the agent's, in the workspace of one run.

use std::{
    collections::VecDeque,
    io::{self, BufReader, Read as _},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use adapters::{
    agent::{self, Notice},
    machine,
    sandbox::View,
    scratch,
};
use project::{Dirs, Place, Shell, tools::Called};
use tempfile::TempDir;

use super::{Call, CallTarget, Reply, receive, send};
use crate::{
    Answer, Event, HookContext, Input, LARGEST, answer_here,
    tool::{self, LARGEST_TOOL},
};

/// How many calls are answered at once. A client runs a few tools side by side, never so many.
const MOST_CALLS: usize = 16;
/// How many refusals are remembered until somebody asks for them.
const MOST_REFUSALS: usize = 100;
/// How long a caller may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long calls may take to end when the server does.
const LAST_CALLS: Duration = Duration::from_secs(5);
/// The exit code for "no answer", which no hook has.
const NO_ANSWER: u8 = 1;
/// The name of the socket in its directory.
const SOCKET: &str = "hooks";

/// Socket server for the hooks of one run; stops when dropped.
///
/// The workspace's lock is taken for some answers, so whoever drives the run must not hold it while an agent works.
#[derive(Debug)]
pub struct Server {
    /// A private directory, gone with the server.
    directory: TempDir,
    token: String,
    is_over: Arc<AtomicBool>,
    active: Arc<AtomicUsize>,
    reminder: Arc<Reminder>,
    refusals: Arc<Mutex<VecDeque<Notice>>>,
    thread: Option<JoinHandle<()>>,
}

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("failed to make a socket for hooks")]
    Socket(#[source] io::Error),
}

impl Server {
    /// Starts to answer hooks in the workspace at `place`.
    ///
    /// What a call makes run of the repository's content runs in `shell`, as whatever the driver runs of it. The agent
    /// calls files by the paths of `view`, and is answered by them.
    pub fn start(place: &Place, dirs: &Dirs, view: View, shell: Shell) -> Result<Self, ServerError> {
        let directory = scratch::directory_for_socket(SOCKET).map_err(ServerError::Socket)?;
        let path = directory.path().join(SOCKET);
        let listener = UnixListener::bind(&path).map_err(ServerError::Socket)?;
        let token = machine::random_text(32).map_err(ServerError::Socket)?;
        let (is_over, active) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (reminder, refusals) = (Arc::<Reminder>::default(), Arc::default());
        let desk = CallHandler {
            root: place.root.clone(),
            dirs: dirs.clone(),
            view,
            shell,
            token: token.clone(),
            active: Arc::clone(&active),
            reminder: Arc::clone(&reminder),
            refusals: Arc::clone(&refusals),
        };
        let until = Arc::clone(&is_over);
        let thread = thread::spawn(move || listen(&listener, &Arc::new(desk), &until));
        Ok(Self { directory, token, is_over, active, reminder, refusals, thread: Some(thread) })
    }

    /// Sets the reminder that an agent gets after its client compacted the conversation.
    pub fn set_reminder(&self, text: String) {
        *self.reminder.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    /// Returns and resets whether a client has compacted its conversation.
    pub fn take_compacted(&self) -> bool {
        self.reminder.is_given.swap(false, Ordering::SeqCst)
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join(SOCKET)
    }

    /// Returns and removes the refusals so far, oldest first. Each is listed before the client sees it.
    pub fn take_refusals(&self) -> Vec<Notice> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    /// Returns the hook configuration with which an agent reaches this server through `program`.
    pub fn hooks(&self, program: &Path) -> agent::Hooks {
        agent::Hooks { program: program.to_owned(), socket: self.socket(), token: self.token.clone() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // The listener waits for a call; this one is not answered.
        if UnixStream::connect(self.socket()).is_ok()
            && let Some(thread) = self.thread.take()
        {
            // It has nothing to tell, not even that it panicked.
            let _ = thread.join();
        }
        let begun = Instant::now();
        while self.active.load(Ordering::SeqCst) > 0 && begun.elapsed() < LAST_CALLS {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Answers the calls of one socket.
struct CallHandler {
    root: PathBuf,
    dirs: Dirs,
    view: View,
    shell: Shell,
    token: String,
    active: Arc<AtomicUsize>,
    reminder: Arc<Reminder>,
    refusals: Arc<Mutex<VecDeque<Notice>>>,
}

/// What an agent is told whose conversation was compacted.
#[derive(Debug, Default)]
struct Reminder {
    text: Mutex<String>,
    is_given: AtomicBool,
}

/// One call that is being answered.
struct Turn(Arc<AtomicUsize>);

impl Turn {
    fn take(active: &Arc<AtomicUsize>) -> Option<Self> {
        let turn = Self(Arc::clone(active));
        (active.fetch_add(1, Ordering::SeqCst) < MOST_CALLS).then_some(turn)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn listen(listener: &UnixListener, desk: &Arc<CallHandler>, is_over: &AtomicBool) {
    while let Ok((stream, _)) = listener.accept() {
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        // One call too many gets no answer, which is a refusal.
        if let Some(turn) = Turn::take(&desk.active) {
            let desk = Arc::clone(desk);
            thread::spawn(move || {
                // A caller that has gone away needs no answer.
                let _ = desk.serve(stream);
                drop(turn);
            });
        }
    }
}

impl CallHandler {
    fn serve(&self, mut stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let reply = match self.answer(&mut reader) {
            Ok(Answer { code, out, err }) => Reply { exit: code, stdout: out, stderr: err },
            Err(error) => Reply { exit: NO_ANSWER, stdout: String::new(), stderr: error.to_string() },
        };
        let told = |text: String| self.view.inside_text(&text).into_owned();
        let reply = Reply { stdout: told(reply.stdout), stderr: told(reply.stderr), ..reply };
        send(&mut stream, &reply)
    }

    fn here(&self, input: &Input) -> HookContext {
        HookContext::at(&self.root, &self.view, &self.dirs, input)
    }

    fn answer(&self, reader: &mut BufReader<UnixStream>) -> io::Result<Answer> {
        let call: Call = receive(reader)?;
        if !is_same(&call.token, &self.token) {
            return Err(io::Error::other("the token is not this run's"));
        }
        let largest = match &call.wants {
            CallTarget::Hook(_) => LARGEST,
            CallTarget::Tool(_) => LARGEST_TOOL,
        };
        if call.length > largest {
            return Err(io::Error::other("the input is too large"));
        }
        let mut input = Vec::new();
        reader.take(call.length as u64).read_to_end(&mut input)?;
        if input.len() < call.length {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the input is not whole"));
        }
        match call.wants {
            CallTarget::Hook(name) => {
                let event = Event::named(&name).filter(|event| event.is_driven());
                let event =
                    event.ok_or_else(|| io::Error::other(format!("`{name}` is not answered here")))?;
                if event == Event::Compacted {
                    return Ok(self.remind());
                }
                let answer = answer_here(event, &input, |input| Some(self.here(input)));
                if event == Event::PreToolUse && answer.code != 0 {
                    self.note_refusal(&input, &answer.err);
                }
                Ok(answer)
            }
            CallTarget::Tool(name) => {
                let here = self.here(&Input::default());
                let called = tool::call_here(&here, self.shell.clone(), &name, &input);
                let Called { text, is_refused } = called.map_err(io::Error::other)?;
                Ok(if is_refused {
                    Answer { code: 2, out: String::new(), err: text }
                } else {
                    Answer { code: 0, out: text, err: String::new() }
                })
            }
        }
    }
}

impl CallHandler {
    fn remind(&self) -> Answer {
        self.reminder.is_given.store(true, Ordering::SeqCst);
        let text = self.reminder.text.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if text.is_empty() { Answer::silent() } else { Answer::context("SessionStart", &text) }
    }

    fn note_refusal(&self, input: &[u8], why: &str) {
        let tool = Input::parse(input).ok().and_then(|input| input.tool_name);
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.len() == MOST_REFUSALS {
            refusals.pop_front();
        }
        // In the words that the client hears.
        let why = self.view.inside_text(why);
        refusals.push_back(Notice::refused(tool.unwrap_or_else(|| "a tool".to_owned()), &why));
    }
}

/// Compares without telling by its time how much is right.
fn is_same(given: &str, wanted: &str) -> bool {
    let differences = given.bytes().zip(wanted.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == wanted.len() && differences == 0
}
