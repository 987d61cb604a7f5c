import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { refuse } from "#ui/test/answers.ts";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import "./BoardScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.

async function openTroubles() {
  const host = createSampleHost("troubles");
  openApp(host, "#/board/p1");
  await screen.findByRole("button", { name: /^#2 / });
  return host;
}

/** Chooses all blocked cards of the column, and what is to be done to them. */
async function unblock(choice: RegExp) {
  const column = screen.getByRole("region", { name: /^Blocked, / });
  await userEvent.click(within(column).getByRole("button", { name: /^Unblock \d+ tasks$/ }));
  const list = await screen.findByRole("dialog", { name: "Unblock…" });
  await userEvent.click(within(list).getByRole("option", { name: choice }));
}

it("retries the blocked cards of a column together after a question that counts them", async () => {
  const host = await openTroubles();
  const offered = host.tasks.filter(
    ({ status, error_annotation, offers }) =>
      status === "blocked" &&
      error_annotation &&
      error_annotation.type !== "manual" &&
      offers.some(({ verb }) => verb === "retry"),
  );
  expect(offered.length).toBeGreaterThan(1);
  await unblock(/^Try again/);
  const title = `Try ${offered.length} tasks again?`;
  const question = await screen.findByRole("alertdialog", { name: title });
  expect(await violationsIn(question)).toEqual([]);
  expect(inputsOf(host, "task_action")).toEqual([]);
  await userEvent.click(within(question).getByRole("button", { name: "Try again" }));
  await waitFor(() =>
    expect(inputsOf(host, "task_action")).toEqual(
      offered.map(({ id, version }) => ({ task_id: id, verb: "retry", version, wait: "none" })),
    ),
  );
  expect(await screen.findByText(`Retried ${offered.length} tasks`)).toBeTruthy();
  expect(screen.queryByRole("region", { name: "Selection" })).toBeNull();
});

it("says for each task that stayed blocked why it did", async () => {
  const host = await openTroubles();
  const again = {
    type: "guard_rejected" as const,
    from_state: "blocked",
    message: "A dependency is still open.",
    details: null,
    execution_id: null,
    evidence: null,
    at: "2030-01-01T12:00:00Z",
  };
  host.answer("task_action", ({ task_id }) => {
    const task = host.tasks.find(({ id }) => id === task_id);
    if (!task) throw new Error("no such task");
    if (task.number === 2)
      return refuse("conflict", "The task has changed.", null, ["Look again."]);
    return { task: { ...task, error_annotation: again }, review: null, notice: null };
  });
  await unblock(/^Try again/);
  const question = await screen.findByRole("alertdialog");
  await userEvent.click(within(question).getByRole("button", { name: "Try again" }));
  const list = await screen.findByRole("dialog", { name: /^Could not retry \d+ tasks$/ });
  expect(within(list).getByText("#2 An agent fails").parentElement?.textContent).toContain(
    "The task has changed.Look again.",
  );
  expect(within(list).getAllByText("A dependency is still open.").length).toBeGreaterThan(0);
  const link = within(list).getByRole("link", { name: "#2 An agent fails" });
  expect(link.getAttribute("href")).toBe("#/task/p1/2");
  await userEvent.keyboard("{Escape}");
  expect(await screen.findByRole("region", { name: "Selection" })).toBeTruthy();
});

it("offers nothing of it for cards that are not blocked", async () => {
  await openTroubles();
  const card = screen.getByRole("button", { name: /^#7 / });
  act(() => card.focus());
  await userEvent.keyboard("x");
  const bar = screen.getByRole("region", { name: "Selection" });
  expect(within(bar).queryByRole("button", { name: /^Unblock/ })).toBeNull();
  await userEvent.keyboard("{Shift>}u{/Shift}");
  expect(await screen.findByText(/^Nothing to unblock/)).toBeTruthy();
});

it("leaves out of the column's button what a person has blocked", async () => {
  const host = createSampleHost("troubles");
  const blocked = host.tasks.filter(
    ({ status, error_annotation }) => status === "blocked" && error_annotation,
  );
  const held = blocked.find(({ offers }) => offers.some(({ verb }) => verb === "retry"));
  if (!held?.error_annotation) throw new Error("no such task");
  const column = () => screen.findByRole("region", { name: /^Blocked, / });
  const count = async () => {
    const button = within(await column()).getByRole("button", { name: /^Unblock \d+ tasks$/ });
    return Number(/\d+/.exec(button.getAttribute("aria-label") ?? button.textContent ?? "")?.[0]);
  };
  openApp(host, "#/board/p1");
  await screen.findByRole("button", { name: /^#2 / });
  const before = await count();
  act(() => {
    host.change(held.id, {
      error_annotation: { ...(held.error_annotation as object), type: "manual" } as never,
    });
  });
  await waitFor(async () => expect(await count()).toBe(before - 1));
});

it("names the tasks that start over, and begins with no other once it is stopped", async () => {
  const host = await openTroubles();
  let answered = 0;
  let answer = (): void => undefined;
  host.answer("task_action", ({ task_id }) => {
    answered += 1;
    const task = host.tasks.find(({ id }) => id === task_id);
    if (!task) throw new Error("no such task");
    return new Promise((resolve) => {
      answer = () =>
        resolve({ task: { ...task, error_annotation: null }, review: null, notice: null });
    });
  });
  await unblock(/^Start over/);
  const question = await screen.findByRole("alertdialog");
  const named = within(question).getAllByRole("listitem");
  expect(named.length).toBeGreaterThan(1);
  expect(named.every(({ textContent }) => /^#\d+ ./.test(textContent ?? ""))).toBe(true);
  await userEvent.click(within(question).getByRole("button", { name: "Start over" }));
  await waitFor(() => expect(answered).toBe(1));
  await userEvent.click(within(question).getByRole("button", { name: "Stop" }));
  act(() => answer());
  expect(await screen.findByText("Started 1 task over")).toBeTruthy();
  expect(answered).toBe(1);
  const bar = await screen.findByRole("region", { name: "Selection" });
  expect(bar.textContent).toContain(`${named.length - 1}`);
});

it("tells the bar of a selection that the agent of its card has started", async () => {
  const host = await openTroubles();
  const idle = host.tasks.find(({ number }) => number === 7);
  const busy = host.tasks.find(({ live }) => live !== null);
  if (!idle) throw new Error("no such task");
  act(() => screen.getByRole("button", { name: /^#7 / }).focus());
  await userEvent.keyboard("x");
  const stop = () =>
    within(screen.getByRole("region", { name: "Selection" })).getByRole("button", {
      name: /^Stop/,
    });
  const live = busy?.live ?? {
    execution_id: "e9",
    agent_id: "a1",
    role: "coder",
    activity: "",
    started_at: "2030-01-01T12:00:00Z",
  };
  act(() => {
    host.change(idle.id, { live: idle.live === null ? live : null });
  });
  const isOff = idle.live !== null;
  await waitFor(() =>
    expect(stop().getAttribute("aria-disabled") === "true" || stop().hasAttribute("disabled")).toBe(
      isOff,
    ),
  );
});

it("asks before programs in terminals end, and spares the window the hints of a command line", async () => {
  const host = await openTroubles();
  host.answer("task_action", ({ task_id, end_terminals }) => {
    const task = host.tasks.find(({ id }) => id === task_id);
    if (!task) throw new Error("no such task");
    if (task.number === 2 && !end_terminals)
      return refuse("terminal_busy", "Terminal 1 runs sh.", null, ["Or try `--end-terminals`."]);
    return { task: { ...task, error_annotation: null }, review: null, notice: null };
  });
  await unblock(/^Try again/);
  const question = await screen.findByRole("alertdialog");
  await userEvent.click(within(question).getByRole("button", { name: "Try again" }));
  const ending = await screen.findByRole("alertdialog", { name: "End programs in terminals?" });
  await userEvent.click(within(ending).getByRole("button", { name: "Cancel" }));
  const list = await screen.findByRole("dialog", { name: "Could not retry 1 task" });
  expect(list.textContent).toContain("Terminal 1 runs sh.");
  expect(list.textContent).not.toContain("--end-terminals");
});
