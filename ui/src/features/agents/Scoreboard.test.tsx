import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./AgentsScreen.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";

const open = (hash = "#/agents?view=scoreboard", sample: string | null = "agents") => {
  const host = createSampleHost(sample, 20);
  return { host, ...openApp(host, hash) };
};

it("is one press away from the agents, and stays in the address", async () => {
  open("#/agents");
  await userEvent.click(await screen.findByRole("radio", { name: "Scoreboard" }));
  expect(await screen.findByRole("table", { name: "Scoreboard" })).toBeTruthy();
  expect(location.hash).toBe("#/agents?view=scoreboard");
  await userEvent.click(screen.getByRole("radio", { name: "Agents" }));
  expect(location.hash).toBe("#/agents");
});

it("tells each rate with its count and interval, and nothing of too little work", async () => {
  const { container } = open();
  const table = await screen.findByRole("table", { name: "Scoreboard" });
  const [, claude, codex, shell] = within(table).getAllByRole("row");
  expect(claude?.textContent).toMatch(/80%.*36 of 45.*95% interval: 66% to 89%/);
  expect(claude?.textContent).toContain("$0.93");
  expect(codex?.textContent).toContain("+ 2 unknown");
  // Two of three is no rate, and a cost that nobody knows is not nothing.
  expect(shell?.textContent).toContain("2 of 3");
  expect(shell?.textContent).not.toMatch(/67%|\$0/);
  expect(shell?.textContent).toContain("unknown");
  const races = screen.getByRole("table", { name: "Races" });
  expect(within(races).getByRole("row", { name: /Claude Codex 9 5 1/ })).toBeTruthy();
  expect(await violationsIn(container)).toEqual([]);
});

it("asks for what the address says, and saves it as CSV", async () => {
  const { host } = open();
  await screen.findByRole("table", { name: "Scoreboard" });
  await userEvent.click(screen.getByRole("radio", { name: "All time" }));
  await userEvent.click(screen.getByRole("radio", { name: "Model" }));
  await screen.findAllByText(/claude-opus/);
  expect(inputsOf(host, "scoreboard").at(-1)).toEqual({ by: "model" });
  await userEvent.click(screen.getByRole("button", { name: "CSV" }));
  await screen.findByText("Scoreboard saved");
  expect(inputsOf(host, "scoreboard_csv")).toEqual([{ by: "model" }]);
});

it("says when nothing was finished, and when it cannot be read", async () => {
  const first = open("#/agents?view=scoreboard", null);
  expect(await screen.findByText("No finished work in this period")).toBeTruthy();
  first.unmount();
  open("#/agents?view=scoreboard", "broken");
  expect(await screen.findByText("Could not load the scoreboard")).toBeTruthy();
});
