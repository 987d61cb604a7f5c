/**
 * How other programs reach the sample host. Served with MCP, unless the sample is `shut` (nothing is served) or
 * `unguarded` (started with --no-mcp and --no-auth). Addresses, tokens and folders are of a machine and are not recorded.
 */
import type { ClientConfig, McpClient } from "#ui/api/generated.ts";
import type { Handlers, Output } from "./answers.ts";

type Access = Output<"doors_get">;

const url = "http://127.0.0.1:4780";
const folder = "/home/me/.local/share/forge";
const titles = { codex: "Codex", claude: "Claude Code", cursor: "Cursor", vscode: "VS Code" };
const files: Readonly<Record<McpClient, string>> = {
  codex: "~/.codex/config.toml",
  claude: ".mcp.json",
  cursor: "~/.cursor/mcp.json",
  vscode: ".vscode/mcp.json",
};
const clients = ["codex", "claude", "cursor", "vscode"] as const;
const args = ["mcp", "--data-dir", folder];
const pretty = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

function started(client: McpClient): ClientConfig {
  const entry = { type: "stdio", command: "/usr/bin/forge", args };
  const line = `/usr/bin/forge ${args.join(" ")}`;
  const commands: Readonly<Record<McpClient, string | null>> = {
    codex: `codex mcp add forge -- ${line}`,
    claude: `claude mcp add --scope user forge -- ${line}`,
    cursor: null,
    vscode: `code --add-mcp '${JSON.stringify({ ...entry, name: "forge" })}'`,
  };
  const isToml = client === "codex";
  return {
    client,
    title: titles[client],
    transport: "stdio",
    file: files[client],
    language: isToml ? "toml" : "json",
    text: isToml
      ? `[mcp_servers.forge]\ncommand = "/usr/bin/forge"\nargs = ["mcp", "--data-dir", "${folder}"]\n`
      : pretty({ [client === "vscode" ? "servers" : "mcpServers"]: { forge: entry } }),
    command: commands[client],
    token_variable: null,
  };
}

function asked(client: McpClient): ClientConfig {
  const bearers: Readonly<Record<McpClient, string>> = {
    codex: "",
    claude: "${FORGE_TOKEN}",
    cursor: "${env:FORGE_TOKEN}",
    vscode: "${input:forge-token}",
  };
  const headers = { Authorization: `Bearer ${bearers[client]}` };
  const entry = { type: "http", url: `${url}/mcp`, headers };
  const input = { type: "promptString", id: "forge-token", description: "Token of Forge" };
  const commands: Readonly<Record<McpClient, string | null>> = {
    codex: `codex mcp add forge --url ${url}/mcp --bearer-token-env-var FORGE_TOKEN`,
    claude: `claude mcp add --scope user --transport http forge ${url}/mcp --header 'Authorization: ${headers.Authorization}'`,
    cursor: null,
    vscode: null,
  };
  return {
    ...started(client),
    transport: "http",
    text:
      client === "codex"
        ? `[mcp_servers.forge]\nurl = "${url}/mcp"\nbearer_token_env_var = "FORGE_TOKEN"\n`
        : client === "vscode"
          ? pretty({ servers: { forge: entry }, inputs: [{ ...input, password: true }] })
          : pretty({ mcpServers: { forge: entry } }),
    command: commands[client],
    token_variable: client === "vscode" ? null : "FORGE_TOKEN",
  };
}

/** What the clients must be told; over HTTP only where that is served. */
export const sampleClients = (isServed: boolean): ClientConfig[] => [
  ...clients.map(started),
  ...(isServed ? clients.map(asked) : []),
];

function sampleAccess(change: Partial<Access> = {}): Access {
  return {
    url,
    mcp_url: `${url}/mcp`,
    mcp_enabled: true,
    mcp_allowed: true,
    auth: true,
    token_file: `${folder}/token`,
    clients: sampleClients(true),
    ...change,
  };
}

/** Served over HTTP, without MCP there. */
export const withoutMcp = (change: Partial<Access> = {}): Access =>
  sampleAccess({ mcp_url: null, mcp_enabled: false, clients: sampleClients(false), ...change });

export const sampleToken = (number: number) => ({
  token: `sample-token-${number}-Zk3vQ1xN8tLw2yRb7cUe5hJd9mAf`,
});

export function apiAccessAnswers(sample: string | null): Handlers {
  const access =
    sample === "shut"
      ? withoutMcp({ url: null, mcp_enabled: true })
      : sample === "unguarded"
        ? withoutMcp({ mcp_allowed: false, auth: false })
        : sampleAccess();
  return { doors_get: () => access, doors_token: () => sampleToken(1) };
}
