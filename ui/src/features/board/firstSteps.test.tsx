import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import type { KnownAgent } from "#ui/api/generated.ts";
import { pageOf, refuse } from "#ui/test/answers.ts";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { sampleAgent } from "#ui/test/sample.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import "./BoardScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.

it("explains the columns of a project without tasks, and of no other", async () => {
  const { container, unmount } = openApp(createSampleHost("new"), "#/board/p1");
  const columns = await screen.findByRole("list", { name: "Columns" });
  const said = within(columns).getAllByRole("listitem");
  expect(said.length).toBeGreaterThan(3);
  expect(said.every(({ textContent }) => (textContent ?? "").endsWith("."))).toBe(true);
  expect(columns.textContent).toContain("BlockedThese need you");
  expect(await violationsIn(container)).toEqual([]);
  unmount();
  openApp(createSampleHost(null, 20), "#/board/p1");
  await screen.findByRole("button", { name: /^#1 / });
  expect(screen.queryByRole("list", { name: "Columns" })).toBeNull();
});

it.each(["new", "empty"])(
  "tells which agent programs are here in the sample %s",
  async (sample) => {
    openApp(createSampleHost(sample), "#/");
    const programs = await screen.findByRole("region", { name: "Agent programs" });
    await within(programs).findByText("Gemini CLI");
    expect(within(programs).getByText("Not installed")).toBeTruthy();
    const copy = "Copy npm install -g @google/gemini-cli";
    expect(within(programs).getByRole("button", { name: copy })).toBeTruthy();
  },
);

it("makes an agent of a program from the empty board", async () => {
  const host = createSampleHost("new");
  host.answer("agent_create", sampleAgent({ id: "a9", name: "Codex" }));
  openApp(host, "#/board/p1");
  await userEvent.click(await screen.findByRole("button", { name: "Add Codex" }));
  await waitFor(() => expect(inputsOf(host, "agent_create")).toMatchObject([{ adapter: "codex" }]));
});

it("says why the agent programs cannot be read, and asks again", async () => {
  const host = createSampleHost("new");
  host.answer("agent_known", () => refuse("internal", "the search was interrupted"));
  openApp(host, "#/board/p1");
  const programs = await screen.findByRole("region", { name: "Agent programs" });
  await within(programs).findByText(/the search was interrupted/);
  host.answer("agent_known", createSampleHost("new").call("agent_known", {}) as never);
  const asked = inputsOf(host, "agent_known").length;
  await userEvent.click(within(programs).getByRole("button", { name: "Try again" }));
  await waitFor(() => expect(inputsOf(host, "agent_known").length).toBeGreaterThan(asked));
});

it("adds an agent program once", async () => {
  const host = createSampleHost("new");
  const { items } = await (host.call("agent_known", {}) as Promise<{
    items: KnownAgent[];
  }>);
  host.answer("agent_known", pageOf(items.map((each) => ({ ...each, profiles: ["Codex"] }))));
  openApp(host, "#/board/p1");
  const programs = await screen.findByRole("region", { name: "Agent programs" });
  expect((await within(programs).findAllByText("Added")).length).toBeGreaterThan(0);
  expect(within(programs).queryByRole("button", { name: "Add Codex" })).toBeNull();
});

it("fills the first task with an example, which goes once something is written", async () => {
  openApp(createSampleHost("new"), "#/board/p1");
  await userEvent.click(await screen.findByRole("button", { name: /^Create first task/ }));
  const dialog = await screen.findByRole("dialog", { name: "New task" });
  await userEvent.click(await within(dialog).findByRole("button", { name: "Use an example" }));
  const box = (name: string) =>
    within(dialog).getByRole<HTMLInputElement>("textbox", { name }).value;
  expect(box("Title")).toBe("Document how to run the tests");
  expect(box("Description")).toContain("Done when");
  expect(within(dialog).queryByRole("button", { name: "Use an example" })).toBeNull();
});
