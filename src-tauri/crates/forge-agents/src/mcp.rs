//! The MCP server of Forge itself, as each program is told of it for one run: an address on this computer, a program on
//! another machine.
//!
//! The token travels by the environment (or by the pipe, where a program takes its servers there), never on a command
//! line, which others on the machine can read.

use std::fmt;

use agent_client_protocol_schema::v1 as acp;
use forge_keeper::{SECRET_VARIABLE, Secret, Tools};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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
    "forge_service_log",
    "forge_stop_service",
    "forge_transition_task",
    "forge_update_task",
    "iteration_state",
    "list_fix_proposals",
    "rollback_fix_proposal",
];
/// The variable that holds the server's address.
pub const MCP_URL_VARIABLE: &str = "FORGE_MCP_URL";
/// The variable that holds the program that is the server, where that is one.
pub const MCP_PROGRAM_VARIABLE: &str = "FORGE_MCP_PROGRAM";
/// The variable that holds the folder that the program is told after [`MCP`].
pub const MCP_FOLDER_VARIABLE: &str = "FORGE_MCP_FOLDER";
/// The variable that holds the token of the run.
pub const MCP_TOKEN_VARIABLE: &str = SECRET_VARIABLE;
/// The first argument of the program.
const MCP: &str = "mcp";
/// How long Codex waits for the program to begin and for an answer, in seconds: while Forge cannot be reached, calls wait.
const CODEX_WAITS: [(&str, u32); 2] = [("startup_timeout_sec", 60), ("tool_timeout_sec", 3600)];

/// The MCP server of Forge, for one run.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ForgeMcp {
    /// Served by the engine, on the same computer.
    Http {
        /// Its address.
        url: String,
        /// The token of the run.
        token: String,
    },
    /// A program that the agent starts on its machine, which carries calls to the engine.
    Program {
        /// The keeper's program there.
        program: String,
        /// The keeper's folder there.
        folder: String,
        /// The token of the run.
        token: String,
    },
}

impl fmt::Debug for ForgeMcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { url, .. } => f.debug_struct("Http").field("url", url).finish_non_exhaustive(),
            Self::Program { program, folder, .. } => f
                .debug_struct("Program")
                .field("program", program)
                .field("folder", folder)
                .finish_non_exhaustive(),
        }
    }
}

impl ForgeMcp {
    /// The token of the run.
    #[must_use]
    pub fn token(&self) -> &str {
        match self {
            Self::Http { token, .. } | Self::Program { token, .. } => token,
        }
    }

    /// What lets the programs of a run call by their keeper; none where they ask the engine itself.
    #[must_use]
    pub fn tools(&self, run: &str) -> Option<Tools> {
        match self {
            Self::Http { .. } => None,
            Self::Program { token, .. } => Some(Tools { run: run.to_owned(), secret: Secret(token.clone()) }),
        }
    }

    /// Variables for the program of the run.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let own = match self {
            Self::Http { url, .. } => vec![(MCP_URL_VARIABLE, url)],
            Self::Program { program, folder, .. } => {
                vec![(MCP_PROGRAM_VARIABLE, program), (MCP_FOLDER_VARIABLE, folder)]
            }
        };
        let token = (MCP_TOKEN_VARIABLE.to_owned(), self.token().to_owned());
        own.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).chain([token]).collect()
    }

    /// Options of Codex, which starts programs with few variables: the token is one that it is told to pass on.
    pub(crate) fn for_codex(&self) -> Vec<String> {
        let mut keys = match self {
            Self::Http { url, .. } => {
                vec![("url", json!(url)), ("bearer_token_env_var", json!(MCP_TOKEN_VARIABLE))]
            }
            Self::Program { program, folder, .. } => vec![
                ("command", json!(program)),
                ("args", json!([MCP, folder])),
                ("env_vars", json!([MCP_TOKEN_VARIABLE])),
            ],
        };
        if matches!(self, Self::Program { .. }) {
            keys.extend(CODEX_WAITS.map(|(key, seconds)| (key, json!(seconds))));
        }
        let set =
            |(key, value): (&str, Value)| ["-c".to_owned(), format!("mcp_servers.{NAME}.{key}={value}")];
        keys.into_iter().flat_map(set).collect()
    }

    /// As the Agent Client Protocol tells of it.
    pub(crate) fn for_acp(&self) -> acp::McpServer {
        match self {
            Self::Http { url, token } => {
                let authorization = acp::HttpHeader::new("Authorization", format!("Bearer {token}"));
                acp::McpServer::Http(acp::McpServerHttp::new(NAME, url).headers(vec![authorization]))
            }
            Self::Program { program, folder, token } => acp::McpServer::Stdio(
                acp::McpServerStdio::new(NAME, program)
                    .args(vec![MCP.to_owned(), folder.clone()])
                    .env(vec![acp::EnvVariable::new(MCP_TOKEN_VARIABLE, token)]),
            ),
        }
    }

    /// Whether a program must know MCP over HTTP to use it.
    pub(crate) const fn is_http(&self) -> bool {
        matches!(self, Self::Http { .. })
    }

    /// What Claude Code lets its model use without asking. What these may do is decided by the server; `validate`, which
    /// runs commands, is not among them: whoever may run commands unasked is told so.
    pub(crate) fn allowed_in_claude(commands: bool) -> Vec<String> {
        let tools = UNASKED.iter().copied().chain(commands.then_some("validate"));
        tools.map(|tool| format!("mcp__{NAME}__{tool}")).collect()
    }

    /// The configuration of Claude Code, which puts the variable in.
    pub(crate) fn for_claude(&self) -> String {
        let token = format!("${{{MCP_TOKEN_VARIABLE}}}");
        let server = match self {
            Self::Http { url, .. } => {
                json!({ "type": "http", "url": url, "headers": { "Authorization": format!("Bearer {token}") } })
            }
            Self::Program { program, folder, .. } => json!({
                "type": "stdio",
                "command": program,
                "args": [MCP, folder],
                "env": { MCP_TOKEN_VARIABLE: token },
            }),
        };
        json!({ "mcpServers": { NAME: server } }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http() -> ForgeMcp {
        ForgeMcp::Http { url: "http://127.0.0.1:4780/mcp".to_owned(), token: "run_secret".to_owned() }
    }

    fn program() -> ForgeMcp {
        ForgeMcp::Program {
            program: "/home/a/.forge/bin/1/forge-keeper".to_owned(),
            folder: "/home/a/.forge/keepers/b".to_owned(),
            token: "run_secret".to_owned(),
        }
    }

    #[test]
    fn the_token_is_on_no_command_line() {
        assert_eq!(
            http().for_codex(),
            [
                "-c",
                "mcp_servers.forge_task.url=\"http://127.0.0.1:4780/mcp\"",
                "-c",
                "mcp_servers.forge_task.bearer_token_env_var=\"FORGE_MCP_TOKEN\""
            ]
        );
        assert_eq!(
            program().for_codex()[..6],
            [
                "-c",
                "mcp_servers.forge_task.command=\"/home/a/.forge/bin/1/forge-keeper\"",
                "-c",
                "mcp_servers.forge_task.args=[\"mcp\",\"/home/a/.forge/keepers/b\"]",
                "-c",
                "mcp_servers.forge_task.env_vars=[\"FORGE_MCP_TOKEN\"]"
            ]
        );
        assert!(http().for_claude().contains("Bearer ${FORGE_MCP_TOKEN}"));
        assert!(program().for_claude().contains("\"FORGE_MCP_TOKEN\":\"${FORGE_MCP_TOKEN}\""));
        for mcp in [http(), program()] {
            for text in [mcp.for_codex().concat(), mcp.for_claude(), format!("{mcp:?}")] {
                assert!(!text.contains("secret"), "{text}");
            }
        }
    }

    #[test]
    fn what_earlier_versions_noted_is_read() {
        let noted = json!({ "url": "http://127.0.0.1:4780/mcp", "token": "run_secret" });
        assert_eq!(serde_json::from_value::<ForgeMcp>(noted).unwrap(), http());
        for mcp in [http(), program()] {
            let noted = serde_json::to_vec(&mcp).unwrap();
            assert_eq!(serde_json::from_slice::<ForgeMcp>(&noted).unwrap(), mcp);
        }
    }

    #[test]
    fn program_is_told_to_programs_of_acp_with_its_token() {
        let told = serde_json::to_value(program().for_acp()).unwrap();
        assert_eq!(told["command"], "/home/a/.forge/bin/1/forge-keeper");
        assert_eq!(told["args"], json!(["mcp", "/home/a/.forge/keepers/b"]));
        assert_eq!(told["env"], json!([{ "name": "FORGE_MCP_TOKEN", "value": "run_secret" }]));
    }
}
