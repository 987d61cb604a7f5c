import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./AttentionScreen.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import type { State, Task } from "#ui/api/generated.ts";
import { movedTask, pageOf } from "#ui/test/answers.ts";
import { sampleWorkflowView } from "#ui/test/sample.ts";
import { sampleAsked } from "#ui/test/sampleConversation.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";

it("tells a hook before work from an agent's failure, and offers what needs no words", async () => {
  const host = createSampleHost("troubles");
  const { container } = openApp(host, "#/attention");
  const list = await screen.findByRole("list", { name: "Attention" });
  const rows = within(list).getAllByRole("listitem");
  const row = (title: string) => rows.find(({ textContent }) => textContent?.includes(title));
  const hook = row("A hook fails before work");
  expect(hook?.textContent).toContain("A hook failed before work started");
  expect(hook?.textContent).toContain("$ scripts/check-licence  → 3");
  expect(row("An agent fails")?.textContent).toContain("The agent failed");
  expect(row("Its provider limits the agent")).toBeUndefined();
  expect(await violationsIn(container)).toEqual([]);

  const offered = within(hook ?? list).getAllByRole("button");
  expect(offered.map(({ textContent }) => textContent)).toEqual(["Rerun hook", "Start over", ""]);
  if (offered[0]) await userEvent.click(offered[0]);
  await waitFor(() =>
    expect(inputsOf(host, "task_action")).toMatchObject([{ task_id: "x1", verb: "retry_hook" }]),
  );
});

it("shows files that nobody trusts before they are trusted", async () => {
  const host = createSampleHost("troubles");
  openApp(host, "#/attention");
  await userEvent.click(await screen.findByRole("button", { name: "Trust these files" }));
  const dialog = await screen.findByRole("dialog", { name: "Startup files" });
  await within(dialog).findByRole("region", { name: ".envrc" });
  expect(inputsOf(host, "task_action")).toEqual([]);
  await userEvent.click(within(dialog).getByRole("button", { name: "Trust these files" }));
  await waitFor(() => expect(inputsOf(host, "project_trust_accept")).toHaveLength(1));
});

it("lists what agents ask beside the tasks, answers yes or no, and counts both", async () => {
  const host = createSampleHost("agents");
  const [, asked, other] = sampleAsked();
  if (!asked || !other) throw new Error("two questions wait");
  const answered = () => {
    host.answer("approval_list", pageOf([other]));
    host.answer("attention", pageOf(host.tasks.filter(({ id }) => id === "t2")));
  };
  host.after("approval_answer", asked, answered, "approvals", "attention");
  const { container } = openApp(host, "#/attention");
  const list = await screen.findByRole("list", { name: "Attention" });
  const [command, change] = within(list).getAllByRole("listitem");
  await within(list).findByText("Cache the parsed configuration");
  expect(command?.textContent).toContain("Claude wants to run a command");
  expect(command?.textContent).toContain("npm install --save-dev fast-check");
  expect(change?.textContent).toContain("Codex wants to change files");
  expect(screen.getByText("2 tasks need you")).toBeTruthy();
  expect(await violationsIn(container)).toEqual([]);
  await userEvent.click(within(command ?? list).getByRole("button", { name: "Decline" }));
  await waitFor(() => expect(within(list).getAllByRole("listitem")).toHaveLength(1));
  expect(inputsOf(host, "approval_answer")).toEqual([
    { execution_id: "e2", approval_id: "q1", option: "decline" },
  ]);
  expect(screen.getByText("1 task needs you")).toBeTruthy();
});

const qa: State = {
  name: "qa",
  display_name: "QA",
  kind: "custom",
  column: "QA",
  triggers: { reject: { to: "in_progress" }, accept: { to: "done" } },
};
/** A board with a state of the project's own, in which one task is. */
function hostWithQa(change: Partial<Task> = {}) {
  const host = createSampleHost("diff");
  const { workflow, moves } = sampleWorkflowView;
  host.answer("project_workflow_get", {
    ...sampleWorkflowView,
    workflow: { ...workflow, states: [...workflow.states, qa] },
    moves: [...moves, { from: "qa", to: ["done", "in_progress", "todo"] }],
  });
  const idle = { live: null, held: false, waiting: null, error_annotation: null, review: null };
  host.change("t1", { ...idle, status: "qa", title: "Try it by hand", ...change });
  host.answer("attention", () =>
    pageOf(host.tasks.filter(({ id, status }) => id === "t1" && status === "qa")),
  );
  host.answer("task_transition", ({ task_id: id, to }) =>
    movedTask(host.change(id, { status: to })),
  );
  return host;
}

it("lists a task in a state of the project's own with its next step, and counts it", async () => {
  const host = hostWithQa({ unmerged_commits: 0, diff_stat: null });
  const { container } = openApp(host, "#/attention");
  const list = await screen.findByRole("list", { name: "Attention" });
  const row = within(list).getByRole("listitem");
  expect(row.textContent).toContain("Try it by hand");
  await within(row).findByText("QA: waiting for you");
  expect(screen.getByText("1 task needs you")).toBeTruthy();
  expect(await violationsIn(container)).toEqual([]);
  await userEvent.click(await within(row).findByRole("button", { name: "Move to Done" }));
  await waitFor(() => expect(screen.queryByText("Try it by hand")).toBeNull());
  expect(inputsOf(host, "task_transition")).toMatchObject([{ task_id: "t1", to: "done" }]);
});

it("asks before the next step leaves work behind", async () => {
  const host = hostWithQa({ unmerged_commits: 2 });
  openApp(host, "#/attention");
  await userEvent.click(await screen.findByRole("button", { name: "Move to Done" }));
  const question = await screen.findByRole("alertdialog", { name: /^Merge #\d+ before closing/ });
  expect(inputsOf(host, "task_transition")).toEqual([]);
  await userEvent.click(within(question).getByRole("button", { name: "Close without merging" }));
  await waitFor(() => expect(inputsOf(host, "task_transition")).toHaveLength(1));
});

it("has the actions of a task as its card and its panel have them, and assigns it", async () => {
  const host = hostWithQa({ unmerged_commits: 0, diff_stat: null });
  openApp(host, "#/attention");
  await userEvent.click(await screen.findByRole("button", { name: "Actions for #1" }));
  for (const name of ["Move to", "Copy link"]) {
    expect(await screen.findByRole("menuitem", { name })).toBeTruthy();
  }
  await userEvent.click(screen.getByRole("menuitem", { name: "Assign to" }));
  await userEvent.click(await screen.findByRole("menuitem", { name: "Reviewer" }));
  await userEvent.click(await screen.findByRole("menuitem", { name: "You" }));
  await waitFor(() =>
    expect(inputsOf(host, "task_assign")).toMatchObject([
      { task_id: "t1", role: "reviewer", holder: "user" },
    ]),
  );
});
