//! One prompt, in the protocol's messages.

use std::{
    collections::VecDeque,
    io,
    path::PathBuf,
    pin::pin,
    sync::mpsc::{self as sync, Receiver},
    time::{Duration, Instant},
};

use agent_client_protocol::{
    Agent, Client, Error, ErrorCode, Lines,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            AuthMethod, AuthMethodAgent, AuthenticateRequest, CancelNotification, ContentBlock, EnvVariable,
            Implementation, InitializeRequest, InitializeResponse, LoadSessionRequest, McpServer,
            McpServerStdio, NewSessionRequest, PromptRequest, RequestPermissionRequest,
            RequestPermissionResponse, ResumeSessionRequest, SessionConfigKind, SessionConfigOption,
            SessionConfigOptionCategory, SessionConfigSelectOptions, SessionId, SessionNotification,
            SessionUpdate, SetSessionConfigOptionRequest, StopReason, TextContent,
        },
    },
};
use futures::{
    channel::{
        mpsc::{self, UnboundedReceiver, UnboundedSender},
        oneshot,
    },
    executor::LocalPool,
    future::{self, Either},
    sink,
    task::LocalSpawnExt as _,
};

use serde_json::Value;

use super::login;
use crate::agent::{Mcp, Turn, Usage, effort_word, words};

/// How long a login may take. One with a key is done at once; one in a browser would wait for a person.
const LOGIN: Duration = Duration::from_secs(30);
/// The fields of an error's data that say what is wrong, best first.
const DETAILS: [&str; 6] = ["message", "details", "detail", "error", "errorKind", "reason"];

/// What came of a prompt: why the agent stopped, and what it used.
pub(super) type Reply = Result<(StopReason, Usage), NoReply>;

/// Why there is no reply.
#[derive(Debug)]
pub(super) enum NoReply {
    /// The conversation that was to be gone on with is not there.
    NoConversation,
    /// The agent wants a login, and what it offers did not work without a person. The text says what that person does.
    NoLogin(String),
    /// The agent refused, and said why.
    Refused(String),
    /// The agent is gone, or does not speak the protocol.
    Lost(String),
}

impl From<Error> for NoReply {
    fn from(error: Error) -> Self {
        match error.code {
            ErrorCode::AUTH_REQUIRED => Self::NoLogin(said(&error)),
            _ => Self::Refused(said(&error)),
        }
    }
}

/// Returns what an error says, in one line: its message, and the message or the kind that its data names.
fn said(error: &Error) -> String {
    let message = words::first_line(&error.message);
    let named = |data: &Value| {
        let text = |field: &str| data[field].as_str().or(data[field]["message"].as_str()).map(str::to_owned);
        DETAILS.iter().find_map(|field| text(field))
    };
    let more = error.data.as_ref().and_then(|data| data.as_str().map(str::to_owned).or_else(|| named(data)));
    match more.map(|more| words::first_line(&more)).filter(|more| !more.is_empty()) {
        Some(more) if !message.contains(&more) => format!("{message}: {more}"),
        Some(_) | None => message,
    }
}

/// An event from the ACP connection.
#[derive(Debug)]
pub(super) enum AcpEvent {
    /// The conversation has a name.
    Opened(SessionId),
    /// It logs in, in a way that it calls so.
    LogsIn(String),
    Updated(Box<SessionUpdate>),
    /// The agent asks for leave to use a tool.
    Asked {
        request: Box<RequestPermissionRequest>,
        responder: Responder<RequestPermissionResponse>,
    },
    /// The turn is over.
    Over(Reply),
}

/// The connection to an agent. It ends when it is dropped, and the agent's input with it.
pub(super) struct Talk {
    pool: LocalPool,
    lines: UnboundedSender<io::Result<String>>,
    events: UnboundedReceiver<Event>,
    /// What cancels the turn, once it has begun.
    open: Option<(ConnectionTo<Agent>, SessionId)>,
    /// What gives up a login that is under way, and when it began.
    login: Option<(oneshot::Sender<()>, Instant)>,
}

/// What the conversation tells whoever drives it.
enum Event {
    Open(ConnectionTo<Agent>, SessionId),
    LoggingIn(oneshot::Sender<()>),
    Happened(AcpEvent),
}

/// Everything that is asked of the agent.
struct Request {
    tree: PathBuf,
    prompt: String,
    resume: Option<SessionId>,
    model: Option<String>,
    effort: Option<String>,
    servers: Vec<McpServer>,
}

impl Talk {
    /// Begins to talk; what is to be written to the agent comes from the receiver.
    pub(super) fn begin(turn: &Turn<'_>, prompt: String) -> (Self, Receiver<Vec<u8>>) {
        let (lines, incoming) = mpsc::unbounded();
        let (tell, events) = mpsc::unbounded();
        let (write, written) = sync::channel();
        let outgoing = sink::unfold((), move |(), line: String| {
            let sent = write.send(format!("{line}\n").into_bytes());
            future::ready(sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe)))
        });
        let request = Request {
            tree: turn.place().to_owned(),
            prompt,
            resume: turn.resume.map(SessionId::new),
            model: turn.model.map(ToOwned::to_owned),
            effort: turn.effort.map(|effort| effort_word(effort).to_owned()),
            servers: turn.mcp.map(|mcp| server(turn, mcp)).into_iter().collect(),
        };
        let pool = LocalPool::new();
        let talking = talk(Lines::new(outgoing, incoming), tell, request);
        pool.spawner().spawn_local(talking).expect("a pool that is there takes a task");
        let mut talk = Self { pool, lines, events, open: None, login: None };
        talk.pool.run_until_stalled();
        (talk, written)
    }

    /// Takes a line of the agent's.
    pub(super) fn hear(&mut self, line: &str) {
        // Nobody listens any more once the turn is over.
        let _ = self.lines.unbounded_send(Ok(line.to_owned()));
        self.pool.run_until_stalled();
    }

    /// Returns what has happened next, if anything has.
    pub(super) fn next(&mut self) -> Option<AcpEvent> {
        // An answer that was given in the meantime is sent.
        self.pool.run_until_stalled();
        loop {
            match self.events.try_recv().ok()? {
                Event::Open(connection, session) => self.open = Some((connection, session)),
                Event::LoggingIn(give_up) => self.login = Some((give_up, Instant::now())),
                Event::Happened(happened) => return Some(happened),
            }
        }
    }

    /// Takes note that time has passed: a login that nobody completes is given up.
    pub(super) fn tick(&mut self) {
        if let Some((give_up, _)) = self.login.take_if(|(_, since)| since.elapsed() >= LOGIN) {
            // One that is done in the meantime does not listen.
            let _ = give_up.send(());
            self.pool.run_until_stalled();
        }
    }

    /// Asks the agent to end its turn.
    pub(super) fn cancel(&mut self) {
        if let Some((connection, session)) = &self.open {
            // An agent that cannot be told is stopped by a signal.
            let _ = connection.send_notification(CancelNotification::new(session.clone()));
            self.pool.run_until_stalled();
        }
    }
}

fn server(turn: &Turn<'_>, mcp: &Mcp) -> McpServer {
    let environment = mcp.environment.iter().map(|(name, value)| EnvVariable::new(name, value)).collect();
    let server = McpServerStdio::new(Mcp::NAME, turn.seen(&mcp.program));
    McpServer::Stdio(server.args(mcp.arguments.clone()).env(environment))
}

/// Talks to an agent, and tells everything that comes of it.
async fn talk<Out, In>(lines: Lines<Out, In>, tell: UnboundedSender<Event>, request: Request)
where
    Out: futures::Sink<String, Error = io::Error> + Send + 'static,
    In: futures::Stream<Item = io::Result<String>> + Send + 'static,
{
    // Whoever drives has gone if it cannot be told: then there is nothing left to say.
    let say = |tell: &UnboundedSender<Event>, happened| _ = tell.unbounded_send(Event::Happened(happened));
    let (updates, asks, opens) = (tell.clone(), tell.clone(), tell.clone());
    let talked = Client
        .v1()
        .on_receive_notification(
            async move |told: SessionNotification, _connection| {
                say(&updates, AcpEvent::Updated(Box::new(told.update)));
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _connection| {
                say(&asks, AcpEvent::Asked { request: Box::new(request), responder });
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(lines, async move |connection: ConnectionTo<Agent>| {
            Ok(prompt(&connection, &opens, request).await)
        })
        .await;
    let lost = |error: Error| Err(NoReply::Lost(error.to_string()));
    say(&tell, AcpEvent::Over(talked.unwrap_or_else(lost)));
}

async fn prompt(connection: &ConnectionTo<Agent>, tell: &UnboundedSender<Event>, request: Request) -> Reply {
    let me = Implementation::new("warp", env!("CARGO_PKG_VERSION"));
    let initialize = InitializeRequest::new(ProtocolVersion::V1).client_info(me);
    let agent = connection.send_request(initialize).block_task().await?;
    let mut logins = Logins {
        connection,
        tell,
        left: login::unattended(&agent.auth_methods),
        offered: &agent.auth_methods,
    };
    let (session, options) = logins.around(async || open(connection, &agent, &request).await).await?;
    let _ = tell.unbounded_send(Event::Open(connection.clone(), session.clone()));
    let _ = tell.unbounded_send(Event::Happened(AcpEvent::Opened(session.clone())));
    choose(connection, &session, &options, &request).await?;
    let ask = async || {
        let text = ContentBlock::Text(TextContent::new(request.prompt.clone()));
        let prompt = PromptRequest::new(session.clone(), vec![text]);
        Ok(connection.send_request(prompt).block_task().await?)
    };
    let response = logins.around(ask).await?;
    let usage = response.usage.map(|usage| Usage {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cache_read: usage.cached_read_tokens.unwrap_or_default(),
        cache_write: usage.cached_write_tokens.unwrap_or_default(),
    });
    Ok((response.stop_reason, usage.unwrap_or_default()))
}

/// The ways of logging in that an agent offers and that were not tried yet.
struct Logins<'a> {
    connection: &'a ConnectionTo<Agent>,
    tell: &'a UnboundedSender<Event>,
    left: VecDeque<AuthMethodAgent>,
    offered: &'a [AuthMethod],
}

impl Logins<'_> {
    /// Asks the agent something. Where it wants a login first, its ways are tried one after the other, and it is asked again.
    async fn around<T>(&mut self, ask: impl AsyncFn() -> Result<T, NoReply>) -> Result<T, NoReply> {
        loop {
            match ask().await {
                Err(NoReply::NoLogin(why)) => self.log_in(&why).await?,
                asked => return asked,
            }
        }
    }

    /// Logs in by the next way that the agent accepts.
    async fn log_in(&mut self, why: &str) -> Result<(), NoReply> {
        while let Some(method) = self.left.pop_front() {
            let (give_up, given_up) = oneshot::channel();
            let _ = self.tell.unbounded_send(Event::LoggingIn(give_up));
            let _ = self.tell.unbounded_send(Event::Happened(AcpEvent::LogsIn(method.name)));
            let asked = self.connection.send_request(AuthenticateRequest::new(method.id)).block_task();
            // A way that is refused, or that waits for a person who is not there, is followed by the next.
            if let Either::Left((Ok(_), _)) = future::select(pin!(asked), given_up).await {
                return Ok(());
            }
        }
        Err(NoReply::NoLogin(login::needed(self.offered, why)))
    }
}

/// Begins a conversation or goes on with one, in the way that the agent knows.
async fn open(
    connection: &ConnectionTo<Agent>,
    agent: &InitializeResponse,
    request: &Request,
) -> Result<(SessionId, Vec<SessionConfigOption>), NoReply> {
    let can = &agent.agent_capabilities;
    let (tree, servers) = (&request.tree, request.servers.clone());
    let gone = |error: Error| match error.code {
        ErrorCode::AUTH_REQUIRED => NoReply::from(error),
        _ => NoReply::NoConversation,
    };
    match request.resume.clone() {
        None => {
            let new = NewSessionRequest::new(tree).mcp_servers(servers);
            let opened = connection.send_request(new).block_task().await?;
            Ok((opened.session_id, opened.config_options.unwrap_or_default()))
        }
        Some(session) if can.session_capabilities.resume.is_some() => {
            let resume = ResumeSessionRequest::new(session.clone(), tree).mcp_servers(servers);
            let opened = connection.send_request(resume).block_task().await.map_err(gone)?;
            Ok((session, opened.config_options.unwrap_or_default()))
        }
        Some(session) if can.load_session => {
            let load = LoadSessionRequest::new(session.clone(), tree).mcp_servers(servers);
            let opened = connection.send_request(load).block_task().await.map_err(gone)?;
            Ok((session, opened.config_options.unwrap_or_default()))
        }
        Some(_) => Err(NoReply::NoConversation),
    }
}

/// Chooses the model, which has to be there, and the effort, where it can be chosen.
async fn choose(
    connection: &ConnectionTo<Agent>,
    session: &SessionId,
    options: &[SessionConfigOption],
    request: &Request,
) -> Result<(), NoReply> {
    let wanted = [
        (SessionConfigOptionCategory::Model, &request.model),
        (SessionConfigOptionCategory::ThoughtLevel, &request.effort),
    ];
    for (category, value) in wanted {
        let Some(value) = value else { continue };
        let option = options.iter().find(|option| option.category.as_ref() == Some(&category));
        match option.filter(|option| offers(option, value)) {
            Some(option) => {
                let value = value.as_str();
                let set = SetSessionConfigOptionRequest::new(session.clone(), option.id.clone(), value);
                connection.send_request(set).block_task().await?;
            }
            None if category == SessionConfigOptionCategory::Model => {
                return Err(NoReply::Refused(format!("the agent has no model `{value}`")));
            }
            None => {}
        }
    }
    Ok(())
}

fn offers(option: &SessionConfigOption, value: &str) -> bool {
    let SessionConfigKind::Select(select) = &option.kind else { return false };
    match &select.options {
        SessionConfigSelectOptions::Ungrouped(options) => {
            options.iter().any(|option| &*option.value.0 == value)
        }
        SessionConfigSelectOptions::Grouped(groups) => {
            groups.iter().flat_map(|group| &group.options).any(|option| &*option.value.0 == value)
        }
        _ => false,
    }
}
