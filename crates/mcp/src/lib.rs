//! The tools by which an agent talks back, over the Model Context Protocol.
//!
//! [`serve`] speaks it on standard input and output until the client closes them. What a tool does is not decided here:
//! each call goes to [`hooks::call_tool`], which finds the run, or the driver of the run behind its walls. A call that the
//! engine does not take is a result that says so; only a call that nobody could answer is an error of the protocol's own.

use std::{io, sync::Arc};

use hooks::{AwayChannel, call_tool};
use project::tools::{self, Called};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use serde_json::Value;

/// What a client is told about the tools.
const INSTRUCTIONS: &str = "Warp holds the run that you work on, and these tools tell it what happened: \
    submit_plan, ask_question, mark_story_complete, done, report_finding, status. A tool that does \
    not fit the phase is refused with what is possible instead; `status` says where the run stands.";

/// Why the server ended before its client did.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the server could not be started")]
    Start(#[source] io::Error),
    #[error("the client does not speak the protocol: {0}")]
    Client(String),
    #[error("the server has failed: {0}")]
    Failed(String),
}

/// Serves one client on standard input and output, until it closes them.
pub fn serve(away: &'static dyn AwayChannel) -> Result<(), ServeError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ServeError::Start)?;
    let ended = runtime.block_on(async {
        match (Tools { away }).serve(rmcp::transport::stdio()).await {
            Ok(server) => match server.waiting().await {
                Ok(_) => Ok(()),
                Err(error) => Err(ServeError::Failed(error.to_string())),
            },
            // A client that goes away before it has said anything wanted nothing.
            Err(error) if is_closed(&error) => Ok(()),
            Err(error) => Err(ServeError::Client(error.to_string())),
        }
    });
    // A read of standard input may still wait in its thread; nobody needs it any more.
    runtime.shutdown_background();
    ended
}

fn is_closed(error: &rmcp::service::ServerInitializeError) -> bool {
    matches!(error, rmcp::service::ServerInitializeError::ConnectionClosed(_))
}

/// The tools, as a server of the protocol.
struct Tools {
    away: &'static dyn AwayChannel,
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let me = Implementation::new("warp", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(me)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = tools::offered().into_iter();
        let tools = tools.map(|tool| Tool::new(tool.name, tool.about, Arc::new(tool.input))).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.into_owned();
        let input = Value::Object(request.arguments.unwrap_or_default()).to_string();
        // In a thread of its own: the project's checks may run for minutes, and others may be called meanwhile.
        let away = self.away;
        let called = tokio::task::spawn_blocking(move || call_tool(&name, input.as_bytes(), away)).await;
        let called = called.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(match called {
            Ok(Called { text, is_refused: false }) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Ok(Called { text, is_refused: true }) => CallToolResult::error(vec![ContentBlock::text(text)]),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
        }
        .into())
    }
}
