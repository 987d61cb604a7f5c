import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import type { Task } from "#ui/api/generated.ts";
import { inputsOf, openApp } from "#ui/test/renderApp.tsx";
import { sampleWorkspace } from "#ui/test/sample.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import "./BoardScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.

const named = (number: number) => ({ name: new RegExp(`^#${number} `) });
const card = (number: number) => screen.findByRole("button", named(number));
const shownCard = (number: number) => screen.getByRole("button", named(number));

/** Gives a card the focus and presses x. */
async function pressX(number: number) {
  await card(number);
  // Looked up again: the board may have drawn it anew since it was found.
  act(() => shownCard(number).focus());
  await userEvent.keyboard("x");
  await waitFor(() => expect(shownCard(number).getAttribute("aria-pressed")).toBe("true"));
}

async function openBoard(change: Partial<Task> = {}) {
  const host = createSampleHost(null, 40);
  host.change("t1", {
    roles: { coder: { type: "agent", id: "a1" } },
    workspace: sampleWorkspace({ task_id: "t1", path: "/trees/1" }),
    ...change,
  });
  openApp(host, "#/board/p1");
  await card(1);
  return host;
}

/** Chooses cards that are not beside each other. */
async function select(...numbers: number[]) {
  for (const number of numbers) await pressX(number);
  return screen.findByRole("region", { name: "Selection" });
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
  const bar = await select(busy?.number ?? 0);
  await userEvent.click(within(bar).getByRole("button", { name: "Stop" }));
  await waitFor(() =>
    expect(inputsOf(host, "execution_stop")).toEqual([{ execution_id: busy?.live?.execution_id }]),
  );
  fireEvent.contextMenu(await card(1));
  await screen.findByRole("menuitem", { name: "Copy link" });
  expect(screen.queryByRole("menuitem", { name: "Stop" })).toBeNull();
});

it("says on what is closed to a selection why it is, in its bar and in its menu", async () => {
  const host = await openBoard({ status: "done", position: 0, unmerged_commits: 0 });
  const open = host.tasks.find(({ status, live }) => status === "todo" && live === null);
  const bar = await select(1, open?.number ?? 0);
  const editor = within(bar).getByRole("button", { name: "Open in editor" });
  expect(editor.getAttribute("aria-disabled")).toBe("true");
  expect(editor.title).toBe("The editor opens one worktree at a time");
  const deletes = within(bar).getByRole("button", { name: "Delete tasks" });
  expect(deletes.title).toBe("Only closed tasks can be deleted, and some of these are open");
  await userEvent.click(deletes);
  expect(screen.queryByRole("alertdialog")).toBeNull();
  fireEvent.contextMenu(await card(1));
  const entry = await screen.findByRole("menuitem", { name: /^Open in editor/ });
  expect(entry.textContent).toContain("The editor opens one worktree at a time");
});

it("deletes the closed tasks of a selection after a question that counts them", async () => {
  const host = await openBoard({ status: "done", position: 0 });
  host.change("t2", { status: "done", position: 1 });
  host.answer("task_delete", { done: true });
  const bar = await select(1, 2);
  await userEvent.click(within(bar).getByRole("button", { name: "Delete tasks" }));
  const question = await screen.findByRole("alertdialog", { name: "Delete 2 tasks?" });
  await userEvent.click(within(question).getByRole("button", { name: "Delete tasks" }));
  await waitFor(() => expect(inputsOf(host, "task_delete")).toHaveLength(2));
});

it("deletes a closed task from the menu of its card after a question, and no open one", async () => {
  const host = await openBoard({ status: "done", position: 0 });
  host.answer("task_delete", { done: true });
  await choose(1, "Delete task");
  const question = await screen.findByRole("alertdialog", { name: "Delete #1?" });
  expect(inputsOf(host, "task_delete")).toEqual([]);
  await userEvent.click(within(question).getByRole("button", { name: "Delete task" }));
  await waitFor(() =>
    expect(inputsOf(host, "task_delete")).toEqual([{ task_id: "t1", version: 1 }]),
  );
  const open = host.tasks.find(({ status }) => status === "todo");
  fireEvent.contextMenu(await card(open?.number ?? 0));
  await screen.findByRole("menuitem", { name: "Copy link" });
  expect(screen.queryByRole("menuitem", { name: "Delete task" })).toBeNull();
});

it("holds and cancels a task from the menu of its card as the engine offers it", async () => {
  const offer = (verb: "hold" | "cancel", label: string) => ({ verb, label, fields: [], why: "" });
  const offers = [offer("hold", "Hold"), offer("cancel", "Cancel task")];
  const host = await openBoard({ offers });
  await choose(1, "Hold");
  await waitFor(() => expect(inputsOf(host, "task_action")).toMatchObject([{ verb: "hold" }]));
  await choose(1, "Cancel task");
  const question = await screen.findByRole("alertdialog", { name: "Cancel task" });
  await userEvent.click(within(question).getByRole("button", { name: "Cancel task" }));
  await waitFor(() =>
    expect(inputsOf(host, "task_action").at(-1)).toMatchObject({ task_id: "t1", verb: "cancel" }),
  );
});
