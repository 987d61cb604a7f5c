import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import "./BoardScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import { movedTask, pageOf, refuse } from "#ui/test/answers.ts";
import type { Waiting } from "#ui/api/generated.ts";
import { sampleProject } from "#ui/test/sample.ts";
import { createSampleHost, type SampleHost } from "#ui/test/sampleHost.ts";

const card = (number: number) => screen.findByRole("button", { name: new RegExp(`^#${number} `) });
const column = (name: string) => screen.getByRole("region", { name: new RegExp(`^${name},`) });

async function openBoard(size = 40): Promise<SampleHost> {
  const host = createSampleHost(null, size);
  openApp(host, "#/board/p1");
  await card(1);
  return host;
}

async function lift(number: number) {
  const found = await card(number);
  act(() => found.focus());
  await userEvent.keyboard(" ");
}

const said = () => screen.getByText(/position|Moved|Move cancelled/, { selector: "[role=status]" });

it("shows each task in the column of its state, and what holds it", async () => {
  await openBoard();
  expect(within(column("Blocked")).getByText("Out of review retries")).toBeTruthy();
  expect(within(column("Review")).getByText("Ready for your review")).toBeTruthy();
  expect(within(column("In progress")).getByText(/Waits for Codex local/)).toBeTruthy();
  expect(screen.queryByRole("region", { name: /^Cancelled,/ })).toBeNull();
});

it("folds an empty backlog to a strip, which opens by a press and for a card", async () => {
  const host = createSampleHost(null, 40);
  for (const task of host.tasks) {
    if (task.status === "backlog") host.change(task.id, { status: "todo" });
  }
  openApp(host, "#/board/p1");
  await card(1);
  const strip = await screen.findByRole("button", { name: "Expand Backlog" });
  expect(within(column("Backlog")).queryByRole("heading")).toBeNull();
  await userEvent.click(strip);
  expect(within(column("Backlog")).getByRole("heading", { name: "Backlog" })).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Collapse Backlog" }));
  expect(screen.getByRole("button", { name: "Expand Backlog" })).toBeTruthy();

  await lift(1);
  await userEvent.keyboard("{ArrowLeft}");
  expect(within(column("Backlog")).getByRole("heading", { name: "Backlog" })).toBeTruthy();
  await userEvent.keyboard("{Escape}");
  expect(await screen.findByRole("button", { name: "Expand Backlog" })).toBeTruthy();
});

it("opens a task with Enter, in the address", async () => {
  await openBoard();
  const first = await card(1);
  act(() => first.focus());
  await userEvent.keyboard("{Enter}");
  expect(location.hash).toBe("#/board/p1?task=1");
});

it("walks over the cards with arrows", async () => {
  await openBoard();
  const first = await card(1);
  act(() => first.focus());
  await userEvent.keyboard("{ArrowDown}");
  await waitFor(() => expect(document.activeElement?.getAttribute("data-task")).toBe("t6"));
  await userEvent.keyboard("{ArrowRight}");
  await waitFor(() => expect(document.activeElement?.getAttribute("data-task")).toBe("t5"));
});

it("walks a card for each arrow, however fast they come", async () => {
  await openBoard();
  const first = await card(1);
  act(() => first.focus());
  act(() => {
    for (const key of ["ArrowDown", "ArrowRight", "Enter"]) fireEvent.keyDown(first, { key });
  });
  await waitFor(() => expect(location.hash).toBe("#/board/p1?task=5"));
});

it("moves a card by keys, says where it is, and offers to take the start back", async () => {
  const host = await openBoard();
  const until = new Date(Date.now() + 5_000).toISOString();
  const starting: Waiting = { reason: "undo", until, files: [], message: "Starts soon" };
  host.answer("task_move", ({ to }) =>
    movedTask(host.change("t1", { status: to, waiting: to === "in_progress" ? starting : null })),
  );
  host.answer("task_undo", () => host.change("t1", { status: "todo", waiting: null }));
  await lift(1);
  expect(said().textContent).toMatch(/^Picked up task 1. Todo, position 1 of /);
  await userEvent.keyboard("{ArrowRight}");
  expect(said().textContent).toMatch(/^Task 1: In progress, position 1 of /);
  await userEvent.keyboard("{Enter}");

  await waitFor(() => expect(inputsOf(host, "task_move")).toHaveLength(1));
  expect(inputsOf(host, "task_move")[0]).toEqual({
    task_id: "t1",
    to: "in_progress",
    before_id: "t4",
    version: 1,
    wait: "none",
  });
  await waitFor(() => expect(within(column("In progress")).getByText("#1")).toBeTruthy());

  const toast = (await screen.findByText("The agent starts on #1")).closest("[data-tone]");
  await userEvent.click(within(toast as HTMLElement).getByRole("button", { name: "Undo" }));
  await waitFor(() => expect(inputsOf(host, "task_undo")).toEqual([{ task_id: "t1" }]));
  await waitFor(() => expect(within(column("Todo")).getByText("#1")).toBeTruthy());
});

it("puts a lifted card back with Escape", async () => {
  const host = await openBoard();
  await lift(1);
  await userEvent.keyboard("{ArrowRight}{Escape}");
  expect(said().textContent).toBe("Move cancelled.");
  expect(inputsOf(host, "task_move")).toEqual([]);
});

it("springs back from a refusal and says why", async () => {
  const host = await openBoard();
  host.answer("task_move", () =>
    refuse(
      "guard_rejected",
      "failed to move the task: conflict markers are left in src/main.rs",
      null,
      ["Resolve them first."],
    ),
  );
  act(() => void host.change("t1", { title: "Called otherwise" }));
  await screen.findByText("Called otherwise");
  await lift(1);
  await userEvent.keyboard("{ArrowRight} ");
  await screen.findAllByText("Could not move #1");
  expect(screen.getAllByText(/conflict markers are left.*Resolve them first/)[0]).toBeTruthy();
  await waitFor(() => expect(within(column("Todo")).getByText("#1")).toBeTruthy());
});

it("shows what is closed to a lifted card, and why", async () => {
  const host = await openBoard();
  const done = host.tasks.find(({ status }) => status === "done");
  await lift(done?.number ?? 0);
  expect(within(column("Review")).getByText("Tasks cannot move from Done to Review")).toBeTruthy();
  // The next open column to the left is Todo, past Blocked, Review and In progress.
  await userEvent.keyboard("{ArrowLeft}");
  expect(said().textContent).toMatch(/^Task \d+: Todo, position /);
});

it("asks before it stops an agent", async () => {
  const host = await openBoard();
  const busy = host.tasks.find(({ live }) => live !== null);
  await lift(busy?.number ?? 0);
  await userEvent.keyboard("{ArrowLeft} ");
  const dialog = await screen.findByRole("alertdialog");
  expect(inputsOf(host, "task_move")).toEqual([]);
  await userEvent.click(within(dialog).getByRole("button", { name: "Stop and move" }));
  await waitFor(() => expect(inputsOf(host, "task_move")).toHaveLength(1));
});

it("selects several and moves them together", async () => {
  const host = await openBoard();
  const user = userEvent.setup();
  await user.keyboard("{Control>}");
  await user.click(await card(1));
  await user.click(await card(6));
  await user.keyboard("{/Control}");
  expect(screen.getByText("2 selected")).toBeTruthy();
  await user.keyboard("m");
  await user.type(await screen.findByRole("combobox"), "backlog{Enter}");
  await waitFor(() => expect(inputsOf(host, "task_move")).toHaveLength(2));
  expect(inputsOf(host, "task_move")).toMatchObject([
    { task_id: "t1", to: "backlog" },
    { task_id: "t6", to: "backlog", after_id: "t1" },
  ]);
});

it("renames in place", async () => {
  const host = await openBoard();
  const first = await card(1);
  act(() => first.focus());
  await userEvent.keyboard("e");
  const field = await screen.findByRole("textbox", { name: "Title" });
  await userEvent.clear(field);
  await userEvent.type(field, "Look before you leap{Enter}");
  await waitFor(() =>
    expect(inputsOf(host, "task_update")).toEqual([
      { task_id: "t1", version: 1, title: "Look before you leap" },
    ]),
  );
});

const isPage = (input: unknown): boolean => (input as { limit?: number }).limit === 50;

it("reads each column once for two hundred changes at once", async () => {
  const host = await openBoard(120);
  // What Attention reads of states of the project's own is no column of the board.
  const columns = () => inputsOf(host, "task_list").filter((input) => isPage(input)).length;
  await waitFor(() => expect(columns()).toBeGreaterThanOrEqual(6));
  const before = columns();
  const boards = inputsOf(host, "project_board").length;
  act(() =>
    host.commit(
      ...Array.from({ length: 200 }, (_, index) => ({
        task_id: `t${index}`,
        tags: [`task:t${index}`, "board:p1"],
      })),
    ),
  );
  await waitFor(() => expect(inputsOf(host, "project_board").length).toBe(boards + 1));
  expect(columns() - before).toBe(6);
});

it("leads a newcomer to the demo", async () => {
  const host = createSampleHost("empty");
  const demo = sampleProject({ name: "Demo" });
  host.after("demo_create", demo, () => host.answer("project_list", pageOf([demo])), "projects");
  openApp(host, "#/");
  await userEvent.click(await screen.findByRole("button", { name: "Try the demo" }));
  await screen.findByRole("heading", { level: 1, name: "Demo" });
  expect(inputsOf(host, "demo_create")).toHaveLength(1);
  expect(location.hash).toBe("#/board/p1");
  await screen.findByRole("button", { name: /Create first task/ });
});

it("says what is wrong when nothing can be read", async () => {
  openApp(createSampleHost("broken"), "#/board/p1");
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("Could not load the projects");
});

it("has no accessibility violation", async () => {
  const host = createSampleHost(null, 30);
  const { container } = openApp(host, "#/board/p1");
  await card(1);
  expect(await violationsIn(container)).toEqual([]);
});
