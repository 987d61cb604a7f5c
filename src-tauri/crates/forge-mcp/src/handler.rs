//! The protocol's requests, by the SDK.

use std::sync::{Arc, OnceLock};

use forge_api::{ApiError, is_open_to_runs};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, DiscoverResult,
        Implementation, InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams,
        ServerCapabilities, Tool as Listed,
    },
    service::RequestContext,
};
use serde_json::Value;

use crate::{
    Backend, Caller,
    tool::{Contract, Effect, Tool},
    tools::table,
};

const ABOUT: &str = "Forge is a board for work done by AI coding agents. Tasks belong to projects; each has a state of its \
    project's workflow and a version that changes with it: read a task before you change it.";

/// The tools for whoever asks.
pub struct Handler<B> {
    inner: Arc<Inner<B>>,
}

struct Inner<B> {
    backend: B,
    /// Who asks; none when every request says it by itself.
    caller: Option<Caller>,
    /// Made for the first who asks: an engine that nobody asks starts without their schemas.
    tools: OnceLock<Vec<Tool<B>>>,
}

impl<B> Clone for Handler<B> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<B: Backend> Handler<B> {
    /// Creates a handler for one caller, or for the caller that each request carries.
    pub(crate) fn new(backend: B, caller: Option<Caller>) -> Self {
        Self { inner: Arc::new(Inner { backend, caller, tools: OnceLock::new() }) }
    }

    fn tools(&self) -> &[Tool<B>] {
        self.inner.tools.get_or_init(table)
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        let said = || context.extensions.get::<http::request::Parts>()?.extensions.get::<Caller>().cloned();
        let caller = self.inner.caller.clone().or_else(said);
        caller.ok_or_else(|| ErrorData::invalid_request("the caller is unknown", None))
    }

    fn introduce(&self, mut info: InitializeResult, caller: &Caller) -> InitializeResult {
        let about = match caller {
            Caller::Person => ABOUT.to_owned(),
            Caller::Run(scope) => format!(
                "{ABOUT} You work on the task with task_id {} of the project with project_id {}. You reach that task and \
                 its parts, nothing else.",
                scope.task_id, scope.project_id
            ),
        };
        info.instructions = Some(about);
        info
    }
}

impl<B: Backend> ServerHandler for Handler<B> {
    fn get_info(&self) -> InitializeResult {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("forge", env!("CARGO_PKG_VERSION")).with_title("Forge"))
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let caller = self.caller(&context)?;
        context.peer.set_peer_info(request.clone());
        Ok(self.introduce(self.negotiate_initialize(&request)?, &caller))
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let caller = self.caller(&context)?;
        let info = self.introduce(self.get_info(), &caller);
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = self.caller(&context)?;
        let shown = |tool: &&Tool<B>| match &caller {
            Caller::Person => true,
            Caller::Run(scope) => is_open_to_runs(scope, tool.operation),
        };
        let tools = self.tools().iter().filter(shown).map(Tool::listed).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Listed> {
        self.tools().iter().find(|tool| tool.name == name).map(Tool::listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context)?;
        let Some(tool) = self.tools().iter().find(|tool| tool.name == request.name) else {
            return Err(ErrorData::invalid_params(format!("no tool `{}`", request.name), None));
        };
        let contract = Contract { backend: self.inner.backend.clone(), caller };
        let work = tool.run(contract, Value::Object(request.arguments.unwrap_or_default()));
        let done = if matches!(tool.effect, Effect::Reads | Effect::Runs) {
            tokio::select! {
                done = work => done,
                () = context.ct.cancelled() => Err(ApiError::cancelled()),
            }
        } else {
            // Whoever hangs up takes nothing back that was begun.
            tokio::spawn(work).await.unwrap_or_else(|error| Err(ApiError::internal(error.to_string())))
        };
        Ok(match done {
            Ok(answer) => CallToolResult::structured(answer).into(),
            Err(error) => refused(&error).into(),
        })
    }
}

/// A refusal as clients and models read it: `code: message`, then what can be done about it.
fn refused(error: &ApiError) -> CallToolResult {
    let mut text = error.to_string();
    for hint in &error.hints {
        text = format!("{text}\nhint: {hint}");
    }
    if !error.details.is_null() {
        text = format!("{text}\ndetails: {}", error.details);
    }
    CallToolResult::error(vec![ContentBlock::text(text)])
}
