import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { drafts } from "#ui/draft/drafts.ts";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import type { Workflow, WorkflowReport } from "#ui/api/generated.ts";
import { refuse } from "#ui/test/answers.ts";
import { sampleWorkflow } from "#ui/test/sample.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { sampleWorkflowAt } from "#ui/test/sampleProcess.ts";
import { sampleOwn, sampleSettings } from "#ui/test/sampleSettings.ts";

const page = "#/settings/project/p1?tab=workflow";

// Chunks come fast from the program's own disk, and slowly through a test's transformer.
beforeAll(async () => {
  await Promise.all([
    import("#ui/features/workflow/WorkflowEditor.tsx"),
    import("#ui/features/workflow/GraphView.tsx"),
    import("#ui/components/CodeEditorBody.tsx"),
    import("#ui/features/projects/ProjectSettingsScreen.tsx"),
  ]);
}, 60_000);

beforeEach(() => {
  drafts.setState({ drafts: {} });
});

const problems = () => screen.findByRole("region", { name: "Problems" });
const openState = async (name: RegExp) => {
  const row = await screen.findByRole("button", { name, expanded: false });
  await userEvent.click(row);
};

/** What the engine finds in a definition of which this state has no column. */
function lacksColumn(state: string): WorkflowReport {
  const index = sampleWorkflow.states.findIndex(({ name }) => name === state);
  const path = `states[${index}].column`;
  return { findings: [{ path, message: "must not be empty" }], notes: [], workflow: null };
}

/** A state's column is emptied, in the form. */
async function breakState(name = /^Review Checkpoint/, state = "review") {
  const host = createSampleHost();
  const opened = openApp(host, `${page}&view=form`);
  await openState(name);
  host.answer("workflow_check", lacksColumn(state));
  await userEvent.clear(screen.getByRole("textbox", { name: "Column" }));
  await problems();
  return opened;
}

it("says what is wrong at the field, and in the list", async () => {
  const { container } = await breakState();
  const column = await screen.findByRole("textbox", {
    name: "Column",
    description: "Must not be empty.",
  });
  expect(column.getAttribute("aria-invalid")).toBe("true");
  const entry = within(await problems()).getByRole("button", { name: /Must not be empty/ });
  expect(entry.textContent).toContain("Review › column · line");
  expect(await violationsIn(container)).toEqual([]);
});

it("says what is wrong at the state in the graph", async () => {
  await breakState();
  await userEvent.click(screen.getByRole("radio", { name: "Graph" }));
  const title = await screen.findByTitle("Must not be empty.");
  expect(title.textContent).toContain("Review");
  expect(title.closest(".react-flow__node")?.getAttribute("aria-label")).toBe(
    "Review, Checkpoint, Reviewer, 1 problem",
  );
});

it("says what is wrong at the line of the text", async () => {
  // Near the top: nothing has a height here, so little more is drawn.
  await breakState(/^Backlog/, "backlog");
  await userEvent.click(screen.getByRole("radio", { name: "JSON" }));
  const text = await screen.findByRole("textbox", { name: "Workflow as JSON" });
  await waitFor(() => expect(text.querySelector(".cm-lintRange-error")).not.toBeNull());
  const line = text.querySelector(".cm-lintRange-error")?.closest(".cm-line");
  expect(line?.textContent).toContain('"column": ""');
});

it("leads from the list to the field", async () => {
  const host = createSampleHost();
  openApp(host, `${page}&view=form`);
  await openState(/^Merging/);
  host.answer("workflow_check", lacksColumn("merging"));
  await userEvent.clear(screen.getByRole("textbox", { name: "Column" }));
  await openState(/^Todo/);
  const entry = within(await problems()).getByRole("button", { name: /Must not be empty/ });
  await userEvent.click(entry);
  const form = await screen.findByRole("group", { name: "Merging" });
  expect(document.activeElement).toBe(within(form).getByRole("textbox", { name: "Column" }));
});

it("tells what a text lacks that is not JSON, and keeps it", async () => {
  openApp(createSampleHost(), `${page}&view=form`);
  await screen.findByRole("button", { name: /^Review Checkpoint/ });
  const key = "workflow:p1";
  act(() => {
    const draft = drafts.getState().drafts[key];
    if (draft) drafts.setState({ drafts: { [key]: { ...draft, text: '{\n  "name": }' } } });
  });
  const said = "Line 2, column 11: missing value.";
  expect((await screen.findAllByText(said)).length).toBeGreaterThan(0);
  await userEvent.click(within(await problems()).getByRole("button", { name: said }));
  const text = await screen.findByRole("textbox", { name: "Workflow as JSON" });
  await waitFor(() => expect(text.textContent).toContain('"name": }'));
  expect(screen.getByRole("button", { name: /^Save/ })).toHaveProperty("disabled", true);
});

it("adds a state in a few clicks, saves it with the version, and the board has it", async () => {
  const host = createSampleHost();
  host.answer("project_workflow_put", ({ text }) => {
    const next = sampleWorkflowAt(2, JSON.parse(text ?? "") as Workflow);
    host.answer("project_workflow_get", next);
    return next;
  });
  openApp(host, `${page}&view=form`);
  await userEvent.click(await screen.findByRole("button", { name: "Add state" }));
  const dialog = await screen.findByRole("dialog", { name: "Add state" });
  await userEvent.type(within(dialog).getByRole("textbox", { name: "Name" }), "Acceptance");
  await userEvent.click(within(dialog).getByRole("button", { name: "Add state" }));
  await screen.findByRole("group", { name: "Acceptance" });
  await screen.findByRole("tab", { name: "Workflow (unsaved)" });
  await screen.findByText("Valid");
  await userEvent.click(screen.getByRole("button", { name: /^Save/ }));
  await screen.findByText("Workflow saved");
  const [put] = inputsOf(host, "project_workflow_put") as { version: number; text: string }[];
  const saved = JSON.parse(put?.text ?? "") as typeof sampleWorkflow;
  expect(put?.version).toBe(1);
  expect(saved.states[3]).toMatchObject({ name: "acceptance", column: "Acceptance" });
  expect(saved.states[2]?.triggers).toEqual({ accept: { to: "acceptance" } });
  await screen.findByRole("tab", { name: "Workflow" });
});

it("saves by keys right after a state was added, whatever has the focus then", async () => {
  const host = createSampleHost();
  openApp(host, page);
  await userEvent.click(await screen.findByRole("button", { name: "Add state" }));
  const dialog = await screen.findByRole("dialog", { name: "Add state" });
  await userEvent.type(within(dialog).getByRole("textbox", { name: "Name" }), "QA");
  await userEvent.click(within(dialog).getByRole("button", { name: "Add state" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  act(() => (document.activeElement as HTMLElement).blur());
  await userEvent.keyboard("{Control>}s{/Control}");
  await screen.findByText("Workflow saved");
  expect(inputsOf(host, "project_workflow_put")).toHaveLength(1);
});

it("undoes and does again", async () => {
  openApp(createSampleHost(), `${page}&view=form`);
  await openState(/^Blocked/);
  await userEvent.type(screen.getAllByRole("textbox", { name: "Name" })[1] as HTMLElement, " here");
  await screen.findByRole("group", { name: "Blocked here" });
  await userEvent.keyboard("{Control>}z{/Control}");
  await screen.findByRole("group", { name: "Blocked" });
  await userEvent.keyboard("{Control>}{Shift>}z{/Shift}{/Control}");
  expect(await screen.findByRole("group", { name: "Blocked here" })).toBeDefined();
});

it("names the tasks that a removed state holds, and keeps the draft", async () => {
  const host = createSampleHost();
  host.answer("project_workflow_put", () =>
    refuse("states_in_use", "failed to put the workflow in force: tasks are in states it removes", {
      tasks: host.tasks
        .filter(({ status }) => status === "blocked")
        .map(({ id, number, title, status }) => ({ id, number, title, status })),
    }),
  );
  openApp(host, `${page}&view=form`);
  await openState(/^Blocked/);
  await userEvent.click(screen.getByRole("button", { name: "Remove Blocked" }));
  await userEvent.click(screen.getByRole("button", { name: /^Save/ }));
  const banner = await screen.findByRole("alert", { name: /Some tasks are in states/ });
  const link = within(banner).getByRole("link", { name: /^#2 / });
  expect(link.getAttribute("href")).toBe("#/task/p1/2");
  await screen.findByRole("tab", { name: "Workflow (unsaved)" });
  expect(screen.queryByRole("button", { name: /^Blocked/ })).toBeNull();
});

it("asks whose workflow is kept when it was changed elsewhere", async () => {
  const host = createSampleHost();
  openApp(host, `${page}&view=form`);
  const name = (await screen.findAllByRole("textbox", { name: "Name" }))[0] as HTMLElement;
  await userEvent.type(name, " mine");
  host.answer("project_workflow_get", sampleWorkflowAt(2, { ...sampleWorkflow, name: "theirs" }));
  act(() => host.commit({ tags: ["projects", "board:p1"] }));
  const banner = await screen.findByRole("alert", { name: "The workflow changed elsewhere" });
  expect(name).toHaveProperty("value", "default mine");
  await userEvent.click(within(banner).getByRole("button", { name: "Keep my draft" }));
  await userEvent.click(screen.getByRole("button", { name: /^Save/ }));
  await screen.findByText("Workflow saved");
  const puts = inputsOf(host, "project_workflow_put") as { version: number; text: string }[];
  expect(puts.map(({ version }) => version)).toEqual([2]);
  expect(puts[0]?.text).toContain('"default mine"');
});

it("keeps what is typed while it is saved, as a change of what was saved", async () => {
  const host = createSampleHost();
  openApp(host, `${page}&view=form`);
  const name = (await screen.findAllByRole("textbox", { name: "Name" }))[0] as HTMLElement;
  await userEvent.type(name, " one");
  let answer = () => {};
  host.answer("project_workflow_put", ({ text }) => {
    const saved = sampleWorkflowAt(2, JSON.parse(text ?? "") as Workflow);
    host.answer("project_workflow_get", saved);
    return new Promise((resolve) => (answer = () => resolve(saved)));
  });
  const button = screen.getByRole("button", { name: /^Save/ });
  await userEvent.click(button);
  await userEvent.type(name, " more");
  // The change is heard of before the answer is.
  const reads = inputsOf(host, "project_workflow_get").length;
  act(() => host.commit({ tags: ["projects", "board:p1"] }));
  await waitFor(() => expect(inputsOf(host, "project_workflow_get").length).toBe(reads + 1));
  await act(async () => answer());
  await waitFor(() => expect(button.hasAttribute("aria-busy")).toBe(false));
  expect(screen.queryByText("The workflow changed elsewhere")).toBeNull();
  expect(name).toHaveProperty("value", "default one more");
  host.answer("project_workflow_put", sampleWorkflowAt(3));
  await userEvent.click(button);
  await waitFor(() => expect(inputsOf(host, "project_workflow_put")).toHaveLength(2));
  expect(inputsOf(host, "project_workflow_put")[1]).toMatchObject({ version: 2 });
});

it("saves again by itself when only the project changed", async () => {
  const host = createSampleHost();
  openApp(host, `${page}&view=form`);
  const name = (await screen.findAllByRole("textbox", { name: "Name" }))[0] as HTMLElement;
  await userEvent.type(name, " 2");
  // A change of the project that the window has not heard of yet.
  host.answer("project_workflow_get", sampleWorkflowAt(2));
  host.answer("project_workflow_put", ({ version }) =>
    version === 2
      ? sampleWorkflowAt(3)
      : refuse(
          "version_conflict",
          "failed to put the workflow in force: it changed since it was read",
        ),
  );
  await userEvent.click(screen.getByRole("button", { name: /^Save/ }));
  await screen.findByText("Workflow saved");
  const puts = inputsOf(host, "project_workflow_put") as { version: number }[];
  expect(puts.map(({ version }) => version)).toEqual([1, 2]);
});

it("starts from a preset, having said what changes", async () => {
  openApp(createSampleHost(), `${page}&view=form`);
  await screen.findByRole("button", { name: /^Review Checkpoint/ });
  await userEvent.click(screen.getByRole("button", { name: "More" }));
  await userEvent.click(await screen.findByRole("menuitem", { name: /Start from a preset/ }));
  const dialog = await screen.findByRole("dialog", { name: "Start from a preset" });
  await within(dialog).findByText("Adds Planning");
  await userEvent.click(within(dialog).getByRole("button", { name: "Use Plan first" }));
  expect(await screen.findByRole("button", { name: /^Planning Checkpoint/ })).toBeDefined();
});

it("only shows what the repository defines", async () => {
  const host = createSampleHost();
  host.answer(
    "project_settings_get",
    sampleSettings({ ...sampleOwn, workflow_source: "repository" }),
  );
  host.answer("project_workflow_get", {
    ...sampleWorkflowAt(1),
    source: "repository",
    origin: {
      commit: "4f2a9c1d0b7e63a5c8f1",
      looked_at: "b81d33e07a94f6c2150d",
      findings: [{ path: "states[3].role", message: "no role is called `auditor`" }],
    },
  });
  openApp(host, `${page}&view=form`);
  const banner = await screen.findByRole("alert", {
    name: /latest workflow in the repository is not active/,
  });
  expect(banner.textContent).toContain("b81d33e07");
  expect(banner.textContent).toContain("states[3].role");
  await openState(/^Review Checkpoint/);
  const form = await screen.findByRole("group", { name: "Review" });
  for (const field of within(form).getAllByRole("textbox"))
    expect(field.matches(":disabled")).toBe(true);
  expect(screen.queryByRole("button", { name: /^Save/ })).toBeNull();
  const own = sampleSettings(sampleOwn);
  const next = () => {
    host.answer("project_settings_get", own);
    host.answer("project_workflow_get", sampleWorkflowAt(1));
  };
  host.after("project_settings_update", own, next, "projects");
  await userEvent.click(within(banner).getByRole("button", { name: "Edit here instead" }));
  await screen.findByRole("button", { name: /^Save/ });
  expect(inputsOf(host, "project_settings_update")).toMatchObject([{ project_id: "p1" }]);
});

it("keeps an unsaved draft when one leaves, and says so", async () => {
  openApp(createSampleHost(), `${page}&view=form`);
  const name = (await screen.findAllByRole("textbox", { name: "Name" }))[0] as HTMLElement;
  await userEvent.type(name, "!");
  act(() => {
    location.hash = "#/attention";
  });
  await userEvent.click(await screen.findByRole("button", { name: "Go back" }));
  const again = (await screen.findAllByRole("textbox", { name: "Name" }))[0] as HTMLElement;
  expect(again).toHaveProperty("value", "default!");
});
