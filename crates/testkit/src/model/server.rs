//! The model's connections: a thread for each, and an end for all of them.

use std::{
    collections::HashMap,
    io::{self, BufReader},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use super::{
    Gate, Manner, Place,
    answer::{Answer, Body},
    http::{Incoming, Outgoing},
    play::Player,
};

/// How long the end of the server's threads is waited for; they only ever wait for requests and for the script.
const PATIENCE: Duration = Duration::from_secs(5);

/// A server on loopback.
pub(super) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    player: Arc<Player>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_over: bool,
    is_accepting: bool,
    /// How many connections there have been.
    count: u64,
    connections: HashMap<u64, TcpStream>,
    /// Where answers wait.
    gates: Vec<Gate>,
}

/// Whether a connection can be used again.
#[derive(PartialEq, Eq)]
enum After {
    Keep,
    Close,
}

impl Server {
    pub(super) fn start(player: Arc<Player>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let state = Mutex::new(State { is_accepting: true, ..State::default() });
        let shared = Arc::new(Shared { player, state, changed: Condvar::new() });
        let accepting = Arc::clone(&shared);
        spawn("model", move || accepting.accept(&listener));
        Self { address, shared }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all connections; tells whether every thread has come to its end.
    pub(super) fn end(&self) -> bool {
        let mut state = self.shared.lock();
        state.is_over = true;
        for connection in state.connections.values() {
            // One that the client has closed is closed.
            let _ = connection.shutdown(Shutdown::Both);
        }
        for gate in state.gates.drain(..) {
            gate.end();
        }
        drop(state);
        self.shared.changed.notify_all();
        // The thread that accepts connections waits for one; if there is no getting through, it has ended.
        let _ = TcpStream::connect_timeout(&self.address, PATIENCE);
        let waited = self.shared.changed.wait_timeout_while(self.shared.lock(), PATIENCE, |state| {
            state.is_accepting || !state.connections.is_empty()
        });
        let (_state, result) = waited.unwrap_or_else(PoisonError::into_inner);
        !result.timed_out()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is whole, so a panic elsewhere does not spoil the state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            let Some(number) = self.admit(&stream) else { break };
            let shared = Arc::clone(self);
            spawn("model-connection", move || {
                // A client that goes away, or does not speak HTTP, gets no further answer.
                let _ = shared.converse(&stream);
                let _ = stream.shutdown(Shutdown::Both);
                shared.lock().connections.remove(&number);
                shared.changed.notify_all();
            });
        }
        self.lock().is_accepting = false;
        self.changed.notify_all();
    }

    /// Notes a connection, so that it can be ended; none at the end of all.
    fn admit(&self, stream: &TcpStream) -> Option<u64> {
        let mut state = self.lock();
        if state.is_over {
            return None;
        }
        state.count += 1;
        let number = state.count;
        state.connections.insert(number, stream.try_clone().expect("a connection can be held twice"));
        Some(number)
    }

    /// Answers one request after the other.
    fn converse(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        while let Some(request) = Incoming::read(&mut reader, &mut &*stream)? {
            let (answer, manner) = self.player.answer(&request);
            if self.send(stream, &request, answer, &manner)? == After::Close {
                return Ok(());
            }
        }
        Ok(())
    }

    fn send(
        &self,
        mut stream: &TcpStream,
        request: &Incoming,
        answer: Answer,
        manner: &Manner,
    ) -> io::Result<After> {
        let answer = answer.with_headers(manner.headers.clone());
        let (pieces, length) = match &answer.body {
            Body::Whole(text) => (vec![text.clone()], Some(text.len())),
            Body::Events(events) => (events.clone(), None),
        };
        let mut out = Outgoing::new(&mut stream, request, &answer, length);
        for (sent, piece) in pieces.iter().enumerate() {
            if !self.may_go_on(sent, pieces.len(), manner) {
                return Ok(After::Close);
            }
            if manner.cut_after.is_some_and(|cut| length.is_some() && cut > 0) {
                let half = piece.floor_char_boundary(piece.len() / 2);
                out.piece(&piece[..half])?;
                return Ok(After::Close);
            }
            out.piece(piece)?;
        }
        if !self.may_go_on(pieces.len(), pieces.len(), manner) {
            return Ok(After::Close);
        }
        out.end()?;
        Ok(if request.keeps_connection() { After::Keep } else { After::Close })
    }

    /// Waits as long as the manner wants after so many of all events; tells whether there is to be another.
    fn may_go_on(&self, sent: usize, all: usize, manner: &Manner) -> bool {
        let is_here = |place: &Place| match place {
            Place::After(events) => *events == sent,
            Place::BeforeLast => sent + 1 == all,
        };
        if let Some((place, gate)) = &manner.held
            && is_here(place)
            && !self.hold(gate)
        {
            return false;
        }
        if let Some(pause) = manner.pause
            && sent > 0
        {
            let waited = self.changed.wait_timeout_while(self.lock(), pause, |state| !state.is_over);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
        manner.cut_after != Some(sent)
    }

    /// Waits at a gate; tells whether it was opened.
    fn hold(&self, gate: &Gate) -> bool {
        let mut state = self.lock();
        if state.is_over {
            return false;
        }
        state.gates.push(gate.clone());
        drop(state);
        gate.pass()
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) {
    thread::Builder::new().name(name.to_owned()).spawn(work).expect("a thread can be started");
}
