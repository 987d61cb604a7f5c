import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { movedTask } from "#ui/test/answers.ts";
import { inputsOf, openApp } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import type { Task } from "#ui/api/generated.ts";
import "./BoardScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.

const card = (number: number) => screen.findByRole("button", { name: new RegExp(`^#${number} `) });
const toast = async (text: string) =>
  (await screen.findByText(text)).closest("[data-tone]") as HTMLElement;

async function openBoard(change: Partial<Task> = {}) {
  const host = createSampleHost(null, 40);
  host.change("t1", change);
  host.answer("task_move", ({ task_id, to }) =>
    movedTask(host.change(task_id, { status: to, version: 2 })),
  );
  openApp(host, "#/board/p1");
  await card(1);
  return host;
}

async function pick(key: string, text: string) {
  const found = await card(1);
  act(() => found.focus());
  await userEvent.keyboard(key);
  await userEvent.type(await screen.findByRole("combobox"), `${text}{Enter}`);
}

const back = (number = 1) => ({ task_id: `t${number}`, version: 2, wait: "none" });

it("takes a move back by the toast that tells of it, to the place where the card was", async () => {
  const host = await openBoard();
  await pick("m", "backlog");
  await userEvent.click(
    within(await toast("Moved #1 to Backlog")).getByRole("button", { name: "Undo" }),
  );
  await screen.findByText("Undone: Moved #1 to Backlog");
  expect(inputsOf(host, "task_move").at(-1)).toEqual({ ...back(), to: "todo", before_id: "t6" });
});

it("takes the last act back by keys, and one before it by the same keys again", async () => {
  const host = await openBoard({ priority: 1 });
  host.answer("task_update", ({ task_id, priority }) =>
    host.change(task_id, { priority: priority ?? 0 }),
  );
  host.answer("task_assign", ({ task_id, role, holder }) => {
    const given =
      holder === "user"
        ? { type: "user" as const, id: null }
        : { type: "agent" as const, id: holder };
    return host.change(task_id, { roles: { [role]: holder === null ? null : given } });
  });
  await pick("{Shift>}p{/Shift}", "urgent");
  await toast("Changed the priority of #1");
  await pick("a", "you");
  await toast("Reassigned #1");
  await userEvent.keyboard("{Control>}z{/Control}");
  await screen.findByText("Undone: Reassigned #1");
  expect(inputsOf(host, "task_assign")).toMatchObject([
    { holder: "user" },
    { holder: host.tasks.find(({ id }) => id === "t1")?.roles["coder"]?.id ?? null },
  ]);
  await userEvent.keyboard("{Control>}z{/Control}");
  await screen.findByText("Undone: Changed the priority of #1");
  expect(inputsOf(host, "task_update")).toMatchObject([{ priority: 4 }, { priority: 1 }]);
});

it("leaves a field's own undo alone", async () => {
  const host = await openBoard();
  await pick("m", "backlog");
  await toast("Moved #1 to Backlog");
  await userEvent.click(screen.getByRole("textbox", { name: "Filter tasks" }));
  await userEvent.keyboard("{Control>}z{/Control}");
  expect(inputsOf(host, "task_move")).toHaveLength(1);
});

it("says why an act cannot be taken back", async () => {
  const host = await openBoard();
  await pick("m", "backlog");
  await toast("Moved #1 to Backlog");
  const live = host.tasks.find((task) => task.live !== null)?.live ?? null;
  act(() => void host.change("t1", { status: "in_progress", live }));
  await userEvent.keyboard("{Control>}z{/Control}");
  expect((await toast("Could not undo “Moved #1 to Backlog”")).textContent).toContain(
    "An agent is working on #1. Stop it first.",
  );
});

it("puts the card of a start that is taken back where it was", async () => {
  const host = await openBoard();
  const until = new Date(Date.now() + 5_000).toISOString();
  host.answer("task_move", ({ task_id, to }) =>
    movedTask(
      host.change(task_id, {
        status: to,
        version: 2,
        waiting: { reason: "undo", until, files: [], message: "Starts soon" },
      }),
    ),
  );
  host.answer("task_undo", () => host.change("t1", { status: "todo", waiting: null, version: 3 }));
  await pick("m", "in progress");
  await toast("The agent starts on #1");
  await userEvent.keyboard("{Control>}z{/Control}");
  await waitFor(() => expect(inputsOf(host, "task_undo")).toEqual([{ task_id: "t1" }]));
  await waitFor(() =>
    expect(inputsOf(host, "task_move").at(-1)).toEqual({
      task_id: "t1",
      to: "todo",
      before_id: "t6",
      version: 3,
      wait: "none",
    }),
  );
});

it("offers a way back out of a closed state where the workflow has one, and says which", async () => {
  await openBoard({ status: "review", review: null });
  await pick("m", "done");
  expect((await toast("Moved #1 to Done")).textContent).toContain("Undo moves it to Todo.");
});

it("never starts an agent: what was at work goes back to where work begins", async () => {
  const host = await openBoard({ status: "in_progress", live: null });
  await pick("m", "backlog");
  const told = await toast("Moved #1 to Backlog");
  expect(told.textContent).toContain("Undo moves it to Todo.");
  await userEvent.click(within(told).getByRole("button", { name: "Undo" }));
  await screen.findByText("Undone: Moved #1 to Backlog");
  expect(inputsOf(host, "task_move").at(-1)).toEqual({ ...back(), to: "todo" });
});

it("leaves a task alone that went on since", async () => {
  const host = await openBoard();
  await pick("m", "backlog");
  await toast("Moved #1 to Backlog");
  act(() => void host.change("t1", { status: "review", live: null }));
  await userEvent.keyboard("{Control>}z{/Control}");
  const told = await toast("Could not undo “Moved #1 to Backlog”");
  expect(told.textContent).toContain("#1 has changed since then.");
  expect(inputsOf(host, "task_move")).toHaveLength(1);
});
