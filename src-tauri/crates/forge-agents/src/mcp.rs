//! The MCP server of Forge itself, as each program is told of it for one run.
//!
//! The token travels by the environment (or by the pipe, where a program takes its servers there), never on a command
//! line, which others on the machine can read.

use std::fmt;

use agent_client_protocol_schema::v1 as acp;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What the server is called: not as people call it who gave their programs Forge's tools by hand, since a program that
/// finds both under one name mixes them up.
pub(crate) const NAME: &str = "forge_task";
/// Tools that stay within Forge.
const UNASKED: &[&str] = &[
    "apply_fix_proposal",
    "forge_add_task_dependency",
    "forge_cancel_task",
    "forge_create_sub_tasks",
    "forge_create_task",
    "forge_follow_up_execution",
    "forge_get_task",
    "forge_get_task_diff",
    "forge_list_executions",
    "forge_logs",
    "forge_remove_task_dependency",
    "forge_search_knowledge",
    "forge_transition_task",
    "forge_update_task",
    "iteration_state",
    "list_fix_proposals",
    "rollback_fix_proposal",
];
/// The variable that holds the server's address.
pub const MCP_URL_VARIABLE: &str = "FORGE_MCP_URL";
/// The variable that holds the token of the run.
pub const MCP_TOKEN_VARIABLE: &str = "FORGE_MCP_TOKEN";

/// The MCP server of Forge, for one run.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgeMcp {
    /// Its address.
    pub url: String,
    /// The token of the run.
    pub token: String,
}

impl fmt::Debug for ForgeMcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForgeMcp").field("url", &self.url).finish_non_exhaustive()
    }
}

impl ForgeMcp {
    /// Variables for the program of the run.
    #[must_use]
    pub fn variables(&self) -> [(String, String); 2] {
        [(MCP_URL_VARIABLE.to_owned(), self.url.clone()), (MCP_TOKEN_VARIABLE.to_owned(), self.token.clone())]
    }

    /// Options of Codex.
    pub(crate) fn for_codex(&self) -> [String; 4] {
        let set = |key: &str, value: &str| format!("mcp_servers.{NAME}.{key}={}", json!(value));
        let option = || "-c".to_owned();
        [option(), set("url", &self.url), option(), set("bearer_token_env_var", MCP_TOKEN_VARIABLE)]
    }

    /// As the Agent Client Protocol tells of it.
    pub(crate) fn for_acp(&self) -> acp::McpServer {
        let authorization = acp::HttpHeader::new("Authorization", format!("Bearer {}", self.token));
        acp::McpServer::Http(acp::McpServerHttp::new(NAME, &self.url).headers(vec![authorization]))
    }

    /// What Claude Code lets its model use without asking. What these may do is decided by the server; `validate`, which
    /// runs commands, is not among them: whoever may run commands unasked is told so.
    pub(crate) fn allowed_in_claude(commands: bool) -> Vec<String> {
        let tools = UNASKED.iter().copied().chain(commands.then_some("validate"));
        tools.map(|tool| format!("mcp__{NAME}__{tool}")).collect()
    }

    /// The configuration of Claude Code, which puts the variable in.
    pub(crate) fn for_claude(&self) -> String {
        let authorization = format!("Bearer ${{{MCP_TOKEN_VARIABLE}}}");
        let server =
            json!({ "type": "http", "url": self.url, "headers": { "Authorization": authorization } });
        json!({ "mcpServers": { NAME: server } }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_on_no_command_line() {
        let mcp = ForgeMcp { url: "http://127.0.0.1:4780/mcp".to_owned(), token: "run_secret".to_owned() };
        assert_eq!(
            mcp.for_codex(),
            [
                "-c",
                "mcp_servers.forge_task.url=\"http://127.0.0.1:4780/mcp\"",
                "-c",
                "mcp_servers.forge_task.bearer_token_env_var=\"FORGE_MCP_TOKEN\""
            ]
        );
        assert!(mcp.for_claude().contains("Bearer ${FORGE_MCP_TOKEN}"));
        for text in [mcp.for_codex().concat(), mcp.for_claude(), format!("{mcp:?}")] {
            assert!(!text.contains("secret"), "{text}");
        }
    }
}
