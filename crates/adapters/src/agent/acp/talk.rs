//! One prompt, in the protocol's messages.

use std::{
    io,
    path::PathBuf,
    sync::mpsc::{self as sync, Receiver},
};

use agent_client_protocol::{
    Agent, Client, Error, Lines,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            CancelNotification, ContentBlock, EnvVariable, Implementation, InitializeRequest,
            InitializeResponse, LoadSessionRequest, McpServer, McpServerStdio, NewSessionRequest,
            PromptRequest, RequestPermissionRequest, RequestPermissionResponse, ResumeSessionRequest,
            SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOptions,
            SessionId, SessionNotification, SessionUpdate, SetSessionConfigOptionRequest, StopReason,
            TextContent,
        },
    },
};
use futures::{
    channel::mpsc::{self, UnboundedReceiver, UnboundedSender},
    executor::LocalPool,
    future, sink,
    task::LocalSpawnExt as _,
};

use crate::agent::{Mcp, Turn, Usage, effort_word};

/// What came of a prompt: why the agent stopped, and what it used.
pub(super) type Reply = Result<(StopReason, Usage), NoReply>;

/// Why there is no reply.
#[derive(Debug)]
pub(super) enum NoReply {
    /// The conversation that was to be gone on with is not there.
    NoConversation,
    /// The agent refused, and said why.
    Refused(String),
    /// The agent is gone, or does not speak the protocol.
    Lost(String),
}

impl From<Error> for NoReply {
    fn from(error: Error) -> Self {
        let more = error.data.as_ref().map(|data| match data.as_str() {
            Some(text) => format!(": {text}"),
            None => format!(": {data}"),
        });
        Self::Refused(format!("{}{}", error.message, more.unwrap_or_default()))
    }
}

/// Something that the agent did.
#[derive(Debug)]
pub(super) enum Happened {
    /// The conversation has a name.
    Opened(SessionId),
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
}

/// What the conversation tells whoever drives it.
enum Event {
    Open(ConnectionTo<Agent>, SessionId),
    Happened(Happened),
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
        let mut talk = Self { pool, lines, events, open: None };
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
    pub(super) fn next(&mut self) -> Option<Happened> {
        // An answer that was given in the meantime is sent.
        self.pool.run_until_stalled();
        loop {
            match self.events.try_recv().ok()? {
                Event::Open(connection, session) => self.open = Some((connection, session)),
                Event::Happened(happened) => return Some(happened),
            }
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
                say(&updates, Happened::Updated(Box::new(told.update)));
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _connection| {
                say(&asks, Happened::Asked { request: Box::new(request), responder });
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(lines, async move |connection: ConnectionTo<Agent>| {
            Ok(prompt(&connection, &opens, request).await)
        })
        .await;
    let lost = |error: Error| Err(NoReply::Lost(error.to_string()));
    say(&tell, Happened::Over(talked.unwrap_or_else(lost)));
}

async fn prompt(connection: &ConnectionTo<Agent>, tell: &UnboundedSender<Event>, request: Request) -> Reply {
    let me = Implementation::new("warp", env!("CARGO_PKG_VERSION"));
    let initialize = InitializeRequest::new(ProtocolVersion::V1).client_info(me);
    let agent = connection.send_request(initialize).block_task().await?;
    let (session, options) = open(connection, &agent, &request).await?;
    let _ = tell.unbounded_send(Event::Open(connection.clone(), session.clone()));
    let _ = tell.unbounded_send(Event::Happened(Happened::Opened(session.clone())));
    choose(connection, &session, &options, &request).await?;
    let text = ContentBlock::Text(TextContent::new(request.prompt));
    let response = connection.send_request(PromptRequest::new(session, vec![text])).block_task().await?;
    let usage = response.usage.map(|usage| Usage {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cache_read: usage.cached_read_tokens.unwrap_or_default(),
        cache_write: usage.cached_write_tokens.unwrap_or_default(),
    });
    Ok((response.stop_reason, usage.unwrap_or_default()))
}

/// Begins a conversation or goes on with one, in the way that the agent knows.
async fn open(
    connection: &ConnectionTo<Agent>,
    agent: &InitializeResponse,
    request: &Request,
) -> Result<(SessionId, Vec<SessionConfigOption>), NoReply> {
    let can = &agent.agent_capabilities;
    let (tree, servers) = (&request.tree, request.servers.clone());
    let gone = |_: Error| NoReply::NoConversation;
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
