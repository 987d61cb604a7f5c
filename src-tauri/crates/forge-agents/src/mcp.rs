//! The MCP server of Forge itself, as each program is told of it for one run.
//!
//! The token travels by the environment (or by the pipe, where a program takes its servers there), never on a command
//! line, which others on the machine can read.

use std::fmt;

use agent_client_protocol_schema::v1 as acp;
use serde_json::json;

/// What the server is called: not as people call it who gave their programs Forge's tools by hand, since a program that
/// finds both under one name mixes them up.
pub(crate) const NAME: &str = "forge_task";
/// The variable that holds the server's address.
pub const MCP_URL_VARIABLE: &str = "FORGE_MCP_URL";
/// The variable that holds the token of the run.
pub const MCP_TOKEN_VARIABLE: &str = "FORGE_MCP_TOKEN";

/// The MCP server of Forge, for one run.
#[derive(Clone, PartialEq, Eq)]
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

    /// What lets Claude Code use its tools without asking: what they may do is decided by the server.
    pub(crate) fn allowed_in_claude() -> String {
        format!("mcp__{NAME}")
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
