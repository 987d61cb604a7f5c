import { expect, it } from "vitest";
import { sampleClients } from "#ui/test/sampleApiAccess.ts";
import { clientsOf, configOf, folderOf, isOfProject, tokenLine } from "./clients.ts";

it("names each client once, in their order", () => {
  expect(clientsOf(sampleClients(true)).map(({ label }) => label)).toEqual([
    "Codex",
    "Claude Code",
    "Cursor",
    "VS Code",
  ]);
});

it("finds what one client must be told, if there is a way", () => {
  const codex = { client: "codex", transport: "http" } as const;
  expect(configOf(sampleClients(true), codex)?.token_variable).toBe("FORGE_TOKEN");
  expect(configOf(sampleClients(false), codex)).toBeUndefined();
});

it.each([
  ["~/.codex/config.toml", false],
  ["/etc/codex.toml", false],
  [".mcp.json", true],
  [".vscode/mcp.json", true],
])("says of %s that it belongs into a project: %s", (file, is) => {
  expect(isOfProject(file)).toBe(is);
});

it("reads the token from its file, whatever the path", () => {
  expect(tokenLine("FORGE_TOKEN", "/home/it's me/token")).toBe(
    String.raw`export FORGE_TOKEN="$(cat '/home/it'\''s me/token')"`,
  );
});

it.each([
  ["/home/me/.local/share/forge/token", "/home/me/.local/share/forge"],
  ["/token", "/"],
])("knows the folder of %s", (file, folder) => {
  expect(folderOf(file)).toBe(folder);
});
