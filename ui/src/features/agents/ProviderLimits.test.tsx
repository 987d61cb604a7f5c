import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./AgentsScreen.tsx";
import { refuse } from "#ui/test/answers.ts";
import { openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";

it("shows each agent's windows as its program reported them, and marks the nearly full", async () => {
  const { container } = openApp(createSampleHost("agents", 20), "#/agents");
  const list = await screen.findByRole("list", { name: "Provider limits of Claude" });
  const rows = within(list)
    .getAllByRole("listitem")
    .map(({ textContent }) => textContent);
  expect(rows).toEqual([
    "5-hour41%resets in 2hreported 4m ago",
    "7-day93%Nearly fullresets in 3dreported 4m ago",
    "seven day opus12%reported 4m ago",
  ]);
  const meter = within(list).getByRole("meter", { name: "Used of the 7-day limit" });
  expect(meter.getAttribute("aria-valuenow")).toBe("93");
  // Nobody reported anything of the others.
  expect(screen.getAllByRole("list", { name: /^Provider limits/ })).toHaveLength(2);
  expect(await violationsIn(container)).toEqual([]);
});

it("says until when an agent that its provider refused starts no run", async () => {
  const host = createSampleHost("agents", 20);
  const limited_until = new Date(2030, 0, 15, 18, 40).toISOString();
  host.answer("agent_limits", {
    items: [{ agent_id: "a4", limited_until, windows: [] }],
    next_cursor: null,
  });
  openApp(host, "#/agents");
  const note = await screen.findByText(/^The provider refused a run\. No run starts until Jan 15/);
  expect(note.closest("li")?.textContent).toContain("Codex");
  expect(screen.queryByRole("list", { name: /^Provider limits/ })).toBeNull();
});

it("says why the limits are not known, beside the agents", async () => {
  const host = createSampleHost("agents", 20);
  host.answer("agent_limits", () => refuse("internal", "the database is locked"));
  openApp(host, "#/agents");
  expect(await screen.findByText("Could not load the provider limits")).toBeTruthy();
  expect(await screen.findByRole("heading", { name: /^Claude/ })).toBeTruthy();
});
