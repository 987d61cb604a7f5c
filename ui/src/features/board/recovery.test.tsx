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
      status === "blocked" && error_annotation && offers.some(({ verb }) => verb === "retry"),
  );
  expect(offered.length).toBeGreaterThan(1);
  await unblock(/^Try again/);
  const title = `Retry ${offered.length} tasks?`;
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
  const list = await screen.findByRole("dialog", { name: /tasks are still blocked$/ });
  expect(within(list).getByText("#2 An agent fails").parentElement?.textContent).toContain(
    "The task has changed.Look again.",
  );
  expect(within(list).getAllByText("A dependency is still open.").length).toBeGreaterThan(0);
});

it("offers nothing of it for cards that are not blocked", async () => {
  await openTroubles();
  const card = screen.getByRole("button", { name: /^#7 / });
  act(() => card.focus());
  await userEvent.keyboard("x");
  const bar = screen.getByRole("region", { name: "Selection" });
  expect(within(bar).queryByRole("button", { name: /^Unblock/ })).toBeNull();
  await userEvent.keyboard("u");
  expect(await screen.findByText(/^Nothing to retry/)).toBeTruthy();
});
