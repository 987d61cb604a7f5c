//! What the configuration of an MCP client must say to reach this Forge, ready to be copied.
//!
//! Each client is told in its own words. None of the texts holds the token: where one is needed, it is read from the
//! variable [`TOKEN_VARIABLE`], or asked for.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The variable of the environment that clients read the token from.
pub const TOKEN_VARIABLE: &str = "FORGE_TOKEN";
/// What the server is called in the clients' configurations.
const SERVER: &str = "forge";

/// A program that uses MCP servers.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    specta::Type,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum McpClient {
    /// Codex.
    Codex,
    /// Claude Code.
    Claude,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
}

/// How a client connects to Forge.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    specta::Type,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum McpTransport {
    /// It starts `forge mcp` and uses its standard input and output. Needs neither a token nor a running Forge.
    Stdio,
    /// It connects to the running Forge, with the token.
    Http,
}

/// The language of a configuration.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    specta::Type,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ConfigLanguage {
    /// JSON.
    Json,
    /// TOML.
    Toml,
}

/// What the configurations are made from.
pub(crate) struct Server {
    /// The `forge` program.
    pub program: PathBuf,
    /// The data folder.
    pub data_dir: PathBuf,
    /// Where the protocol is served; none when it is not.
    pub url: Option<String>,
    /// Whether the token is asked for.
    pub auth: bool,
}

crate::ops::answer! {
    /// The configuration of one client for one transport.
    pub struct ClientConfig {
        /// The client.
        pub client: McpClient,
        /// Display name.
        pub title: String,
        /// How it connects to Forge.
        pub transport: McpTransport,
        /// The file to put it into.
        pub file: String,
        /// The language of the text.
        pub language: ConfigLanguage,
        /// The text.
        pub text: String,
        /// A shell line that does the same; null if the client has none.
        pub command: Option<String>,
        /// The variable that must hold the token when the client starts; null if it reads none.
        pub token_variable: Option<String>,
    }
}

impl McpClient {
    const ALL: [Self; 4] = [Self::Codex, Self::Claude, Self::Cursor, Self::Vscode];
}

impl Server {
    /// The `forge` program beside `own`, the program that runs: `own` itself, its neighbour, else the one on the path.
    pub(crate) fn program_of(own: &Path) -> PathBuf {
        let beside = own.with_file_name(SERVER);
        if beside.is_file() { beside } else { PathBuf::from(SERVER) }
    }

    /// Every client with every transport there is.
    pub(crate) fn configs(&self) -> Vec<ClientConfig> {
        let transports = [McpTransport::Stdio, McpTransport::Http];
        let known = transports.into_iter().filter(|it| *it == McpTransport::Stdio || self.url.is_some());
        known.flat_map(|it| McpClient::ALL.iter().map(move |client| self.config(*client, it))).collect()
    }

    fn config(&self, client: McpClient, transport: McpTransport) -> ClientConfig {
        let language = if client == McpClient::Codex { ConfigLanguage::Toml } else { ConfigLanguage::Json };
        let asks = client == McpClient::Vscode;
        let needs_token = transport == McpTransport::Http && self.auth;
        ClientConfig {
            client,
            title: title(client).to_owned(),
            transport,
            file: file(client).to_owned(),
            language,
            text: match client {
                McpClient::Codex => self.codex(transport),
                McpClient::Claude | McpClient::Cursor => {
                    pretty(&json!({ "mcpServers": { SERVER: self.entry(client, transport) } }))
                }
                McpClient::Vscode => pretty(&self.vscode(transport)),
            },
            command: self.command(client, transport),
            token_variable: (needs_token && !asks).then(|| TOKEN_VARIABLE.to_owned()),
        }
    }

    fn arguments(&self) -> [String; 3] {
        ["mcp".to_owned(), "--data-dir".to_owned(), self.data_dir.to_string_lossy().into_owned()]
    }

    fn url(&self) -> &str {
        self.url.as_deref().unwrap_or_default()
    }

    fn codex(&self, transport: McpTransport) -> String {
        let head = format!("[mcp_servers.{SERVER}]\n");
        match transport {
            McpTransport::Stdio => {
                let arguments: Vec<String> = self.arguments().iter().map(|it| quoted(it)).collect();
                let program = quoted(&self.program.to_string_lossy());
                format!("{head}command = {program}\nargs = [{}]\n", arguments.join(", "))
            }
            McpTransport::Http => {
                let token = format!("bearer_token_env_var = {}\n", quoted(TOKEN_VARIABLE));
                let token = if self.auth { token.as_str() } else { "" };
                format!("{head}url = {}\n{token}", quoted(self.url()))
            }
        }
    }

    /// What a client is told about the server.
    fn entry(&self, client: McpClient, transport: McpTransport) -> Value {
        match transport {
            McpTransport::Stdio => {
                json!({ "type": "stdio", "command": self.program, "args": self.arguments() })
            }
            McpTransport::Http => {
                let mut entry = json!({ "type": "http", "url": self.url() });
                if self.auth {
                    entry["headers"] = json!({ "Authorization": format!("Bearer {}", token_of(client)) });
                }
                entry
            }
        }
    }

    fn vscode(&self, transport: McpTransport) -> Value {
        let mut whole = json!({ "servers": { SERVER: self.entry(McpClient::Vscode, transport) } });
        if transport == McpTransport::Http && self.auth {
            whole["inputs"] = json!([
                { "type": "promptString", "id": "forge-token", "description": "Token of Forge", "password": true }
            ]);
        }
        whole
    }

    fn command(&self, client: McpClient, transport: McpTransport) -> Option<String> {
        let start = format!(
            "{} {}",
            in_shell(&self.program.to_string_lossy()),
            self.arguments().map(|it| in_shell(&it)).join(" ")
        );
        match (client, transport) {
            (McpClient::Codex, McpTransport::Stdio) => Some(format!("codex mcp add {SERVER} -- {start}")),
            (McpClient::Codex, McpTransport::Http) => {
                let token = format!(" --bearer-token-env-var {TOKEN_VARIABLE}");
                let token = if self.auth { token.as_str() } else { "" };
                Some(format!("codex mcp add {SERVER} --url {}{token}", self.url()))
            }
            (McpClient::Claude, McpTransport::Stdio) => {
                Some(format!("claude mcp add --scope user {SERVER} -- {start}"))
            }
            (McpClient::Claude, McpTransport::Http) => {
                let token = format!(" --header 'Authorization: Bearer ${{{TOKEN_VARIABLE}}}'");
                let token = if self.auth { token.as_str() } else { "" };
                Some(format!("claude mcp add --scope user --transport http {SERVER} {}{token}", self.url()))
            }
            (McpClient::Vscode, McpTransport::Stdio) => {
                let mut entry = self.entry(client, transport);
                entry["name"] = Value::from(SERVER);
                Some(format!("code --add-mcp {}", in_shell(&entry.to_string())))
            }
            (McpClient::Vscode, McpTransport::Http) | (McpClient::Cursor, _) => None,
        }
    }
}

const fn title(client: McpClient) -> &'static str {
    match client {
        McpClient::Codex => "Codex",
        McpClient::Claude => "Claude Code",
        McpClient::Cursor => "Cursor",
        McpClient::Vscode => "VS Code",
    }
}

const fn file(client: McpClient) -> &'static str {
    match client {
        McpClient::Codex => "~/.codex/config.toml",
        McpClient::Claude => ".mcp.json",
        McpClient::Cursor => "~/.cursor/mcp.json",
        McpClient::Vscode => ".vscode/mcp.json",
    }
}

/// How a client's configuration names the token without holding it.
fn token_of(client: McpClient) -> String {
    match client {
        McpClient::Cursor => format!("${{env:{TOKEN_VARIABLE}}}"),
        McpClient::Vscode => "${input:forge-token}".to_owned(),
        McpClient::Codex | McpClient::Claude => format!("${{{TOKEN_VARIABLE}}}"),
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// A text in TOML; its escapes are those of JSON.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A word of a shell line.
fn in_shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '=' | ':');
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(auth: bool) -> Server {
        Server {
            program: PathBuf::from("/opt/for ge/forge"),
            data_dir: PathBuf::from("/home/a/.local/share/forge"),
            url: Some("http://127.0.0.1:4780/mcp".to_owned()),
            auth,
        }
    }

    fn text(server: &Server, client: McpClient, transport: McpTransport) -> String {
        server.config(client, transport).text
    }

    #[test]
    fn each_client_is_told_in_its_own_words() {
        let server = server(true);
        assert_eq!(server.configs().len(), 8);
        assert_eq!(
            text(&server, McpClient::Codex, McpTransport::Stdio),
            "[mcp_servers.forge]\ncommand = \"/opt/for ge/forge\"\n\
             args = [\"mcp\", \"--data-dir\", \"/home/a/.local/share/forge\"]\n"
        );
        assert_eq!(
            text(&server, McpClient::Codex, McpTransport::Http),
            "[mcp_servers.forge]\nurl = \"http://127.0.0.1:4780/mcp\"\nbearer_token_env_var = \"FORGE_TOKEN\"\n"
        );
        let read = |client, transport| {
            serde_json::from_str::<Value>(&text(&server, client, transport)).expect("it is JSON")
        };
        let stdio = read(McpClient::Claude, McpTransport::Stdio);
        assert_eq!(stdio["mcpServers"]["forge"]["command"], "/opt/for ge/forge");
        assert_eq!(stdio["mcpServers"]["forge"]["args"][0], "mcp");
        let bearer = |client, servers: &str| {
            read(client, McpTransport::Http)[servers]["forge"]["headers"]["Authorization"].clone()
        };
        assert_eq!(bearer(McpClient::Claude, "mcpServers"), "Bearer ${FORGE_TOKEN}");
        assert_eq!(bearer(McpClient::Cursor, "mcpServers"), "Bearer ${env:FORGE_TOKEN}");
        assert_eq!(bearer(McpClient::Vscode, "servers"), "Bearer ${input:forge-token}");
        assert_eq!(read(McpClient::Vscode, McpTransport::Http)["inputs"][0]["id"], "forge-token");
        assert_eq!(
            server.config(McpClient::Claude, McpTransport::Stdio).command.as_deref(),
            Some(
                "claude mcp add --scope user forge -- '/opt/for ge/forge' mcp --data-dir /home/a/.local/share/forge"
            )
        );
    }

    #[test]
    fn nobody_is_asked_for_a_token_that_is_not_wanted() {
        let open = server(false);
        for config in open.configs() {
            assert!(!config.text.contains("earer") && config.token_variable.is_none(), "{}", config.text);
            assert!(!config.command.is_some_and(|line| line.contains("earer")));
        }
        let closed = Server { url: None, ..server(true) };
        assert!(closed.configs().iter().all(|it| it.transport == McpTransport::Stdio));
    }
}
