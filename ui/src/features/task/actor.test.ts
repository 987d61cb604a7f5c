import { expect, it } from "vitest";
import { t } from "#ui/i18n/index.ts";
import { actorText } from "./actor.ts";

const agents = new Map([["a-1", "Codex local"]]);

it.each([
  ["agent:a-1", "Codex local"],
  ["agent:0199f3a2-77c4", "A deleted agent"],
  ["user:board", "You (board)"],
  ["user:cli", "You (CLI)"],
  ["user:api", "You (API)"],
  ["user:mcp", "You (MCP)"],
  ["user:telegraph", "You"],
  ["user", "You"],
  ["system:scheduler", "Forge (scheduler)"],
  ["system:review", "Forge (review)"],
  ["system:merge", "Forge (merge)"],
  ["system:workflow", "Forge (workflow)"],
  ["system:recovery", "Forge (recovery)"],
  ["system:cleanup", "Forge (cleanup)"],
  ["system:host", "Forge (code host)"],
  ["system:moon", "Forge"],
  ["night_watch", "night watch"],
])("says %s as %s", (actor, text) => {
  expect(actorText(actor, agents, t)).toBe(text);
});
