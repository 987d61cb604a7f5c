import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { inputsOf, openApp } from "#ui/test/renderApp.tsx";
import { sampleWorkspace } from "#ui/test/sample.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import "./BoardScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.

const card = (number: number) => screen.findByRole("button", { name: new RegExp(`^#${number} `) });

async function openBoard() {
  const host = createSampleHost(null, 40);
  host.change("t1", {
    roles: { coder: { type: "agent", id: "a1" } },
    workspace: sampleWorkspace({ task_id: "t1", path: "/trees/1" }),
  });
  openApp(host, "#/board/p1");
  await card(1);
  return host;
}

async function choose(number: number, name: string) {
  fireEvent.contextMenu(await card(number));
  await userEvent.click(await screen.findByRole("menuitem", { name }));
}

it("starts a task, copies its link and opens its worktree from the menu of its card", async () => {
  userEvent.setup(); // It gives the page a clipboard.
  const host = await openBoard();
  await choose(1, "Start");
  await waitFor(() =>
    expect(inputsOf(host, "task_claim")).toEqual([{ task_id: "t1", agent_id: "a1", version: 1 }]),
  );
  await choose(1, "Copy link");
  expect(await navigator.clipboard.readText()).toBe("forge://task/t1");
  await choose(1, "Open in editor");
  await waitFor(() => expect(host.opened).toEqual([{ kind: "editor", target: "/trees/1" }]));
});

it("stops the agents of a selection from its bar, and says when there are none", async () => {
  const host = await openBoard();
  const busy = host.tasks.find(({ live }) => live !== null);
  const found = await card(busy?.number ?? 0);
  act(() => found.focus());
  await userEvent.keyboard("x");
  const bar = screen.getByRole("region", { name: "Selection" });
  await userEvent.click(within(bar).getByRole("button", { name: "Stop" }));
  await waitFor(() =>
    expect(inputsOf(host, "execution_stop")).toEqual([{ execution_id: busy?.live?.execution_id }]),
  );
  await choose(1, "Stop");
  expect(await screen.findByText("No agent is working on the task")).toBeTruthy();
});
