import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { drafts } from "#ui/draft/drafts.ts";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import type { HookTest } from "#ui/api/generated.ts";
import { refuseInput } from "#ui/test/answers.ts";
import { createSampleHost, type SampleHost } from "#ui/test/sampleHost.ts";
import { sampleHookTest, samplePrinted } from "#ui/test/sampleProcess.ts";
import { sampleOwn, sampleSettings } from "#ui/test/sampleSettings.ts";

const page = "#/settings/project/p1?tab=hooks";

beforeAll(async () => {
  await Promise.all([
    import("#ui/features/hooks/HooksEditor.tsx"),
    import("#ui/components/CodeEditorBody.tsx"),
    import("#ui/features/projects/ProjectSettingsScreen.tsx"),
  ]);
}, 60_000);

beforeEach(() => {
  drafts.setState({ drafts: {} });
});

const event = (name: RegExp) => screen.findByRole("region", { name });

/** A test of a hook that goes on until it is told to end; what it prints is read from its log. */
function willTest(host: SampleHost, log: "task_log" | "hook_test_log") {
  let finish: (test: HookTest) => void = () => {};
  host.answer("hook_test", () => new Promise((resolve) => (finish = resolve)));
  host.answer(log, samplePrinted());
  return {
    print(line: string) {
      host.answer(log, samplePrinted(line));
      const [sent] = inputsOf(host, "hook_test") as { log_id: string }[];
      act(() => host.commit({ tags: [`log:${sent?.log_id}`] }));
    },
    finish: (test: HookTest) => act(async () => finish(test)),
  };
}

const save = () => userEvent.click(screen.getByRole("button", { name: /^Save/ }));

it("lets a script block before work, and nowhere else", async () => {
  openApp(createSampleHost(), page);
  const before = await event(/^Before work/);
  await userEvent.click(within(before).getByRole("button", { name: /: npm ci blocking$/ }));
  expect(
    within(before).getByRole("switch", { name: "Blocking" }).getAttribute("aria-checked"),
  ).toBe("true");
  const done = await event(/^When a task is done/);
  await userEvent.click(within(done).getByRole("button", { name: /notify\.sh done$/ }));
  await within(done).findByRole("textbox", { name: "Command" });
  expect(within(done).queryByRole("switch", { name: "Blocking" })).toBeNull();
});

it("says at its field what the engine refuses, and saves what is mended", async () => {
  const host = createSampleHost();
  const { container } = openApp(host, page);
  const before = await event(/^Before work/);
  host.answer("project_settings_update", () =>
    refuseInput(
      "failed to change the settings: the input is not valid",
      "lifecycle_hooks.before_work[2].command",
      "must be a shell command, not blank",
    ),
  );
  await userEvent.click(within(before).getByRole("button", { name: "Add script" }));
  await save();
  const command = await within(before).findByRole("textbox", {
    name: "Command",
    description: /Must be a shell command, not blank/,
  });
  expect(document.activeElement).toBe(command);
  expect(await violationsIn(container)).toEqual([]);
  host.answer("project_settings_update", sampleSettings(sampleOwn));
  await userEvent.type(command, "npm test");
  expect(screen.queryByText(/Must be a shell command/)).toBeNull();
  await save();
  await screen.findByText("Hooks saved");
  const sent = inputsOf(host, "project_settings_update").at(-1) as {
    lifecycle_hooks: Record<string, unknown>;
  };
  expect(sent.lifecycle_hooks["before_work"]).toMatchObject([
    { command: "npm ci" },
    { name: "knowledge-inject" },
    { type: "script", command: "npm test" },
  ]);
  expect(sent.lifecycle_hooks["on_work_stop"]).toBeNull();
});

/** A hook is removed and not saved, and somebody else has saved another one. */
async function changedHereAndElsewhere() {
  const host = createSampleHost();
  openApp(host, page);
  const before = await event(/^Before work/);
  await userEvent.click(
    within(before).getAllByRole("button", { name: "Remove" })[0] as HTMLElement,
  );
  host.answer(
    "project_settings_get",
    sampleSettings({
      ...sampleOwn,
      lifecycle_hooks: { on_task_cancel: [{ type: "script", command: "theirs" }] },
    }),
  );
  act(() => host.commit({ tags: ["projects"] }));
  return host;
}

it("saves nothing over what changed elsewhere before a person says so", async () => {
  const host = await changedHereAndElsewhere();
  const banner = await screen.findByRole("alert", { name: "The hooks changed elsewhere" });
  const keep = within(banner).getByRole("button", { name: "Keep my draft" });
  await save();
  expect(document.activeElement).toBe(keep);
  await userEvent.keyboard("{Control>}s{/Control}");
  expect(inputsOf(host, "project_settings_update")).toEqual([]);
  await userEvent.click(keep);
  await save();
  await waitFor(() => expect(inputsOf(host, "project_settings_update")).toHaveLength(1));
});

it("keeps what is typed while it is saved, as a change of what was saved", async () => {
  const host = createSampleHost();
  openApp(host, page);
  const cancel = await event(/^When a task is cancelled/);
  await userEvent.click(within(cancel).getByRole("button", { name: "Add script" }));
  await userEvent.type(within(cancel).getByRole("textbox", { name: "Command" }), "one");
  let answer = () => {};
  host.answer("project_settings_update", ({ lifecycle_hooks }) => {
    const saved = sampleSettings({ ...sampleOwn, lifecycle_hooks });
    host.answer("project_settings_get", saved);
    return new Promise((resolve) => (answer = () => resolve(saved)));
  });
  await save();
  await userEvent.type(within(cancel).getByRole("textbox", { name: "Command" }), " more");
  // The change is heard of before the answer is.
  const reads = inputsOf(host, "project_settings_get").length;
  act(() => host.commit({ tags: ["projects"] }));
  await waitFor(() => expect(inputsOf(host, "project_settings_get")).toHaveLength(reads + 1));
  expect(screen.queryByText("The hooks changed elsewhere")).toBeNull();
  await act(async () => answer());
  const button = screen.getByRole("button", { name: /^Save/ });
  await waitFor(() => expect(button.hasAttribute("aria-busy")).toBe(false));
  expect(screen.queryByText("The hooks changed elsewhere")).toBeNull();
  await within(cancel).findByRole("button", { name: /: one more$/ });
  await userEvent.click(button);
  await waitFor(() => expect(inputsOf(host, "project_settings_update")).toHaveLength(2));
  expect(inputsOf(host, "project_settings_update")[1]).toMatchObject({
    lifecycle_hooks: { on_task_cancel: [{ type: "script", command: "one more" }] },
  });
});

it("discards what is written for what was saved elsewhere", async () => {
  await changedHereAndElsewhere();
  await screen.findByText("The hooks changed elsewhere");
  await userEvent.click(screen.getByRole("button", { name: "Discard" }));
  await screen.findByRole("button", { name: /: theirs$/ });
  expect(screen.queryByText("The hooks changed elsewhere")).toBeNull();
});

it("moves a hook by keys, and the focus with it", async () => {
  openApp(createSampleHost(), page);
  const before = await event(/^Before work/);
  within(before)
    .getByRole("button", { name: /: npm ci blocking$/ })
    .focus();
  await userEvent.keyboard("{Alt>}{ArrowDown}{/Alt}");
  await waitFor(() =>
    expect(document.activeElement?.getAttribute("aria-label")).toBe(
      "Before work, hook 2: npm ci blocking",
    ),
  );
});

it("offers the plugins that fit the event", async () => {
  openApp(createSampleHost(), page);
  const stops = await event(/^When work stops/);
  await userEvent.click(within(stops).getByRole("button", { name: "Add plugin" }));
  await userEvent.click(await within(stops).findByRole("combobox", { name: "Plugin" }));
  const options = await screen.findAllByRole("option");
  expect(options.map((option) => option.textContent)).toEqual([
    expect.stringContaining("Notify when blocked"),
  ]);
});

it("tries an unsaved hook in a task's worktree, and shows what it prints while it runs", async () => {
  const host = createSampleHost();
  const running = willTest(host, "task_log");
  openApp(host, page);
  const done = await event(/^When a task is done/);
  await userEvent.click(within(done).getByRole("button", { name: /notify\.sh done$/ }));
  const command = await within(done).findByRole("textbox", { name: "Command" });
  await userEvent.clear(command);
  await userEvent.type(command, "exit 3");
  await userEvent.click(within(done).getByRole("button", { name: "Test" }));
  const test = await within(done).findByRole("region", { name: "Test" });
  await userEvent.click(within(test).getByRole("combobox", { name: "Run in" }));
  await userEvent.click(await screen.findByRole("option", { name: /^#7 / }));
  await userEvent.click(within(test).getByRole("button", { name: "Run test" }));
  const live = await within(test).findByText(/^Running/);
  expect(within(test).queryByText(/Looking for the lock file/)).toBeNull();
  running.print("Looking for the lock file\n");
  await within(test).findByText(/Looking for the lock file/);
  const dir = "/home/me/.local/share/forge/worktrees/t7";
  await running.finish(
    sampleHookTest({
      status: "failed",
      exit_code: 3,
      stderr: "npm error code ELIFECYCLE\n",
      working_dir: dir,
      environment: { FORGE_TASK_ID: "t7", FORGE_WORKTREE_PATH: dir },
      error: "exited with 3",
    }),
  );
  const result = await within(test).findByRole("group", { name: "Failed" });
  expect(live.isConnected).toBe(false);
  within(result).getByText("Exit code 3");
  within(result).getByText(/ELIFECYCLE/);
  expect(within(result).getAllByText(dir)).toHaveLength(2);
  within(result).getByText("FORGE_TASK_ID");
  const [sent] = inputsOf(host, "hook_test") as {
    hook: unknown;
    task_id: string;
    log_id: string;
    hook_index: number;
  }[];
  expect(sent).toMatchObject({ hook: { command: "exit 3" }, task_id: "t7", hook_index: 0 });
  expect(sent?.log_id).toMatch(/^hook-test-/);
  const read = inputsOf(host, "task_log") as { log_id: string }[];
  expect(read[0]?.log_id).toBe(sent?.log_id);
});

it("shows what a test in the repository itself prints while it runs", async () => {
  const host = createSampleHost();
  const running = willTest(host, "hook_test_log");
  openApp(host, page);
  const done = await event(/^When a task is done/);
  await userEvent.click(within(done).getByRole("button", { name: /notify\.sh done$/ }));
  await userEvent.click(within(done).getByRole("button", { name: "Test" }));
  const test = await within(done).findByRole("region", { name: "Test" });
  await userEvent.click(within(test).getByRole("button", { name: "Run test" }));
  const live = await within(test).findByText(/^Running/);
  running.print("Looking for the lock file\n");
  await within(test).findByText(/Looking for the lock file/);
  expect(live.isConnected).toBe(true);
  await running.finish(sampleHookTest());
  await within(test).findByRole("group", { name: "Succeeded" });
  const [sent] = inputsOf(host, "hook_test") as { log_id: string }[];
  expect(inputsOf(host, "hook_test_log")[0]).toEqual({
    project_id: "p1",
    log_id: sent?.log_id,
    limit: 200,
  });
  expect(inputsOf(host, "task_log")).toEqual([]);
});

it("shows the same draft as text", async () => {
  openApp(createSampleHost(), page);
  const before = await event(/^Before work/);
  // Whoever hears the line is told what its badge shows.
  await userEvent.click(within(before).getByRole("button", { name: /: npm ci blocking$/ }));
  await userEvent.click(within(before).getByRole("switch", { name: "Blocking" }));
  await within(before).findByRole("button", { name: /: npm ci$/ });
  await userEvent.click(screen.getByRole("radio", { name: "JSON" }));
  const text = await screen.findByRole("textbox", { name: "Hooks as JSON" });
  await waitFor(() => expect(text.textContent).toContain('"npm ci"'));
  expect(text.textContent).not.toContain("blocking");
});
