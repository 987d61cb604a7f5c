//! A Model Context Protocol client built with the official SDK.

mod access;
mod calls;
mod scopes;

use std::{collections::BTreeMap, process::Stdio};

use anyhow::{Context as _, Result, ensure};
use rmcp::{
    RoleClient, ServiceExt as _,
    model::{CallToolRequestParams, CallToolResult, Tool},
    service::RunningService,
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use serde_json::Value;
use tokio::process::{Child, Command};

use forge_testkit::{Folder, serve::Served};

/// A client and its list of tools.
pub struct Mcp {
    client: RunningService<RoleClient, ()>,
    tools: BTreeMap<String, Tool>,
    /// The server process, when the client started it.
    server: Option<Child>,
}

impl Mcp {
    /// A client over HTTP with the main token.
    pub async fn over_http(server: &Served) -> Result<Self> {
        Self::with_token(server, server.token.as_deref().context("no token")?).await
    }

    /// A client over HTTP with a given token.
    pub async fn with_token(server: &Served, token: &str) -> Result<Self> {
        let config = StreamableHttpClientTransportConfig::with_uri(format!("{}/mcp", server.url));
        let transport = StreamableHttpClientTransport::from_config(config.auth_header(token));
        Self::list_tools(().serve(transport).await?, None).await
    }

    /// A client that starts `forge mcp`.
    pub async fn over_stdio(sandbox: &Folder) -> Result<Self> {
        let mut command = Command::from(sandbox.command(["mcp"])?);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut server = command.spawn()?;
        let pipes = (server.stdout.take().context("no output")?, server.stdin.take().context("no input")?);
        Self::list_tools(().serve(pipes).await?, Some(server)).await
    }

    async fn list_tools(client: RunningService<RoleClient, ()>, server: Option<Child>) -> Result<Self> {
        let listed = client.list_all_tools().await?;
        let tools = listed.into_iter().map(|tool| (tool.name.to_string(), tool)).collect();
        Ok(Self { client, tools, server })
    }

    /// The server's instructions.
    pub fn instructions(&self) -> Result<String> {
        self.client.peer_info().context("nothing")?.instructions.clone().context("no instructions")
    }

    /// The size of the tool list in bytes.
    pub fn size(&self) -> Result<usize> {
        let each = self.tools.values().map(|tool| Ok(serde_json::to_string(tool)?.len()));
        each.sum()
    }

    /// The answer of a call, successful or not.
    pub async fn answer(&self, tool: &str, arguments: Value) -> Result<CallToolResult> {
        let arguments = arguments.as_object().cloned().context("no object")?;
        Ok(self
            .client
            .call_tool(CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments))
            .await?)
    }

    /// The structured content of a successful call, which matches the tool's schema and the text content.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<Value> {
        let known = self.tools.get(tool).with_context(|| format!("no tool {tool}"))?;
        let takes = jsonschema::validator_for(&Value::Object(known.input_schema.as_ref().clone()))?;
        ensure!(takes.is_valid(&arguments), "{tool} does not take {arguments:#}");
        let answer = self.answer(tool, arguments).await?;
        ensure!(answer.is_error != Some(true), "{tool}: {answer:?}");
        let content = answer.structured_content.context("no structured content")?;
        let text = answer.content.first().and_then(|first| first.as_text()).context("no text")?;
        ensure!(
            serde_json::from_str::<Value>(&text.text)? == content,
            "{tool}: the text says something else"
        );
        let schema = known.output_schema.as_ref().context("no output schema")?;
        let gives = jsonschema::validator_for(&Value::Object(schema.as_ref().clone()))?;
        let wrong: Vec<String> = gives
            .iter_errors(&content)
            .map(|error| format!("{} at {}", error, error.instance_path()))
            .collect();
        ensure!(wrong.is_empty(), "{tool} gives what its schema does not say: {wrong:#?}");
        Ok(content)
    }

    /// The message of a refused call, which starts with its code.
    pub async fn refusal(&self, tool: &str, arguments: Value) -> Result<String> {
        let answer = self.answer(tool, arguments).await?;
        ensure!(answer.is_error == Some(true), "{tool} is not refused: {answer:?}");
        let text = answer.content.first().and_then(|first| first.as_text()).context("no text")?;
        Ok(text.text.clone())
    }

    /// Closes the pipes and returns the exit code.
    pub async fn close(self) -> Result<Option<i32>> {
        self.client.cancel().await?;
        match self.server {
            Some(mut server) => Ok(server.wait().await?.code()),
            None => Ok(None),
        }
    }
}
