import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
// Loaded before the tests: as chunks they may take longer than a test has.
import "#ui/features/agents/AgentsScreen.tsx";
import "#ui/features/attention/AttentionScreen.tsx";
import "#ui/features/board/BoardScreen.tsx";
import "#ui/features/newTask/NewTaskDialog.tsx";
import "#ui/features/projects/AddProjectDialog.tsx";
import "#ui/features/projects/ProjectSettingsScreen.tsx";
import "#ui/features/settings/SettingsScreen.tsx";
import "#ui/features/workflow/WorkflowEditor.tsx";
import "#ui/features/workflow/GraphView.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { movedTask, pageOf, refuse, refuseInput } from "#ui/test/answers.ts";
import { sampleProject } from "#ui/test/sample.ts";
import { sampleNotifications } from "#ui/test/sampleBoard.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { sampleProfiles } from "#ui/test/sampleProfiles.ts";
import { sampleOwn, sampleSettings } from "#ui/test/sampleSettings.ts";

it("creates a task for the agent chosen last and starts it", async () => {
  const host = createSampleHost(null, 20);
  openApp(host, "#/agents");
  await screen.findByRole("heading", { name: /Codex local/ });
  await userEvent.keyboard("c");
  const dialog = await screen.findByRole("dialog", { name: "New task" });
  await userEvent.type(within(dialog).getByRole("textbox", { name: "Title" }), "Say hello");
  await userEvent.click(within(dialog).getByRole("combobox", { name: "Agent" }));
  await userEvent.click(await screen.findByRole("option", { name: /Claude/ }));
  await userEvent.click(within(dialog).getByRole("button", { name: /^Create and start/ }));
  await waitFor(() => expect(inputsOf(host, "task_claim")).toHaveLength(1));
  expect(inputsOf(host, "task_create")).toEqual([
    { project_id: "p1", title: "Say hello", roles: { coder: "a2" } },
  ]);
  expect(inputsOf(host, "task_claim")).toMatchObject([{ agent_id: "a2", version: 1 }]);
});

it("says a finding at its field", async () => {
  const host = createSampleHost("new");
  host.answer("task_create", () =>
    refuseInput("failed to create the task", "title", "must be 1 to 300 characters on one line"),
  );
  openApp(host, "#/agents");
  await screen.findByRole("heading", { level: 1, name: "Agents" });
  await userEvent.keyboard("c");
  const title = await screen.findByRole("textbox", { name: "Title" });
  await userEvent.click(title);
  await userEvent.paste("x".repeat(301));
  await userEvent.keyboard("{Control>}{Enter}{/Control}");
  await screen.findByText("must be 1 to 300 characters on one line");
  expect(title.getAttribute("aria-invalid")).toBe("true");
});

it("adds the folder that was dropped on the window", async () => {
  const host = createSampleHost("empty");
  const shop = sampleProject({ name: "shop", repo_path: "/home/me/code/shop" });
  host.after("project_create", shop, () => host.answer("project_list", pageOf([shop])), "projects");
  openApp(host, "#/agents");
  await screen.findByRole("heading", { level: 1, name: "Agents" });
  host.dropFiles(["/home/me/code/shop"]);
  const path = await screen.findByRole("textbox", { name: "Repository" });
  expect((path as HTMLInputElement).value).toBe("/home/me/code/shop");
  await userEvent.click(screen.getByRole("button", { name: "Add project" }));
  await screen.findByRole("heading", { level: 1, name: "shop" });
  expect(inputsOf(host, "project_create")).toEqual([{ repo_path: "/home/me/code/shop" }]);
});

it("shows why an agent may not be deleted", async () => {
  const host = createSampleHost(null, 20);
  host.answer("agent_delete", () =>
    refuse("in_use", "failed to remove the agent: tasks name it", null, [
      "Give its tasks to another agent first.",
    ]),
  );
  openApp(host, "#/agents");
  await userEvent.click(await screen.findByRole("button", { name: "Delete Claude" }));
  const dialog = await screen.findByRole("alertdialog");
  await userEvent.click(within(dialog).getByRole("button", { name: "Delete agent" }));
  const why = await within(dialog).findByText(/tasks name it/);
  expect(why.textContent).toContain("tasks name it. Give its tasks to another agent first.");
  expect(inputsOf(host, "agent_delete")).toEqual([{ agent_id: "a2" }]);
});

it("tells a missing program, pauses and resumes", async () => {
  const host = createSampleHost(null, 20);
  const [first, claude, third] = sampleProfiles();
  if (!first || !claude || !third) throw new Error("there are three profiles");
  const paused = { ...claude, paused: true };
  const next = () => host.answer("agent_list", pageOf([first, paused, third]));
  host.after("agent_pause", paused, next, "agents");
  openApp(host, "#/agents");
  await screen.findByText(/night-shift is not on the PATH/);
  await userEvent.click(screen.getByRole("button", { name: "Pause Claude" }));
  await screen.findByRole("button", { name: "Resume Claude" });
  expect(inputsOf(host, "agent_pause")).toEqual([{ agent_id: "a2" }]);
});

it("lists what waits, oldest first, and takes an offer", async () => {
  const host = createSampleHost(null, 20);
  openApp(host, "#/attention");
  const list = await screen.findByRole("list", { name: "Attention" });
  const rows = within(list).getAllByRole("listitem");
  expect(rows.map((row) => row.textContent?.match(/#\d+/)?.[0])).toEqual(["#7", "#3", "#2"]);
  expect(screen.getByText(/cargo test --workspace/)).toBeTruthy();
  const [waiting, conflicting, blocked] = ["t7", "t3", "t2"].map((id) =>
    host.tasks.find((task) => task.id === id),
  );
  if (!waiting || !conflicting || !blocked) throw new Error("three tasks wait");
  const next = () => host.answer("attention", pageOf([waiting, conflicting]));
  host.after("task_action", movedTask(blocked), next, "attention");
  await userEvent.click(screen.getByRole("button", { name: "Reset retries" }));
  await waitFor(() =>
    expect(inputsOf(host, "task_action")).toMatchObject([{ task_id: "t2", verb: "reset_budget" }]),
  );
  await waitFor(() => expect(within(list).getAllByRole("listitem")).toHaveLength(2));
});

it("changes a setting, shows it as the project's own, and returns it to the default", async () => {
  const host = createSampleHost(null, 20);
  openApp(host, "#/settings/project/p1?tab=automation");
  const field = await screen.findByRole("textbox", { name: "Concurrent agents" });
  host.answer("project_settings_update", () =>
    refuseInput(
      "failed to change the settings: max_concurrent: must be at least 1",
      "max_concurrent",
      "must be at least 1",
    ),
  );
  await userEvent.clear(field);
  await userEvent.type(field, "0{Enter}");
  await screen.findByText("must be at least 1");
  const { max_concurrent: _, ...others } = sampleOwn;
  const reset = sampleSettings(others);
  const next = () => host.answer("project_settings_get", reset);
  host.after("project_settings_update", reset, next, "projects");
  await userEvent.click(screen.getByRole("button", { name: "Reset Concurrent agents to default" }));
  expect(screen.getByText("Default once saved")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() =>
    expect(inputsOf(host, "project_settings_update").at(-1)).toEqual({
      project_id: "p1",
      max_concurrent: null,
    }),
  );
  await waitFor(() =>
    expect(screen.queryByRole("button", { name: "Reset Concurrent agents to default" })).toBeNull(),
  );
});

it("edits the checks as a list", async () => {
  const host = createSampleHost(null, 20);
  openApp(host, "#/settings/project/p1?tab=checks");
  await userEvent.click(await screen.findByRole("button", { name: "Add check" }));
  await userEvent.type(screen.getByRole("textbox", { name: "Checks, line 3" }), "npm run e2e");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() =>
    expect(inputsOf(host, "project_settings_update")).toEqual([
      {
        project_id: "p1",
        review_config: { ci_steps: ["npm test", "npm run lint", "npm run e2e"] },
      },
    ]),
  );
});

it("deletes a project only by its name", async () => {
  const host = createSampleHost(null, 20);
  openApp(host, "#/settings/project/p2");
  await userEvent.click(await screen.findByRole("button", { name: "Delete project" }));
  const dialog = await screen.findByRole("alertdialog");
  const confirm = within(dialog).getByRole("button", { name: "Delete project" });
  await userEvent.click(confirm);
  expect(inputsOf(host, "project_delete")).toEqual([]);
  await userEvent.type(within(dialog).getByRole("textbox"), "Parser");
  await userEvent.click(confirm);
  await waitFor(() =>
    expect(inputsOf(host, "project_delete")).toEqual([{ project_id: "p2", confirm: "Parser" }]),
  );
});

it("keeps notifications in the bar and marks them as read", async () => {
  const host = createSampleHost(null, 20);
  openApp(host, "#/agents");
  await userEvent.click(await screen.findByRole("button", { name: "Notifications, 2 unread" }));
  const read = sampleNotifications().map((each) => ({ ...each, read: true }));
  const next = () => host.answer("notification_list", pageOf(read));
  host.after("notification_read", { done: true }, next, "notifications");
  await userEvent.click(await screen.findByRole("button", { name: "Mark all read" }));
  await waitFor(() => expect(inputsOf(host, "notification_read")).toEqual([{}]));
  await screen.findByRole("button", { name: "Notifications" });
});

it("leads from the palette to how other programs reach Forge", async () => {
  openApp(createSampleHost(null, 20), "#/agents");
  await screen.findByRole("heading", { level: 1, name: "Agents" });
  await userEvent.keyboard("{Control>}k{/Control}");
  await userEvent.type(await screen.findByRole("combobox"), "API and MCP");
  await userEvent.keyboard("{Enter}");
  expect(await screen.findByRole("region", { name: "API and MCP" })).toBeTruthy();
  expect(location.hash).toBe("#/settings?part=api");
});

it("says that agents get no tools while MCP is off", async () => {
  openApp(createSampleHost("unguarded"), "#/settings/project/p1?tab=automation");
  const tools = await screen.findByRole("switch", { name: "Give agents Forge tools" });
  const hint = () => document.getElementById(tools.getAttribute("aria-describedby") ?? "");
  await waitFor(() => expect(hint()?.textContent).toContain("agents currently get no tools"));
});

it("gives agents Forge's tools, as the project's own", async () => {
  const host = createSampleHost(null, 20);
  openApp(host, "#/settings/project/p1?tab=automation");
  const tools = await screen.findByRole("switch", { name: "Give agents Forge tools" });
  expect(tools).toMatchObject({ ariaChecked: "false" });
  const given = sampleSettings({ ...sampleOwn, mcp: { inject: true } });
  const next = () => host.answer("project_settings_get", given);
  host.after("project_settings_update", given, next, "projects");
  await userEvent.click(tools);
  expect(inputsOf(host, "project_settings_update")).toEqual([]);
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await screen.findByRole("button", { name: "Reset Give agents Forge tools to default" });
  expect(inputsOf(host, "project_settings_update")).toEqual([
    { project_id: "p1", mcp: { inject: true } },
  ]);
});

it("finds tasks from the palette", async () => {
  openApp(createSampleHost(null, 20), "#/agents");
  await screen.findByRole("heading", { level: 1, name: "Agents" });
  await userEvent.keyboard("{Control>}k{/Control}");
  await userEvent.type(await screen.findByRole("combobox"), "approve me");
  await screen.findByRole("option", { name: /Approve me/ });
  await userEvent.keyboard("{Enter}");
  await waitFor(() => expect(location.hash).toBe("#/board/p1?task=7"));
});

it.each<[string, RegExp]>([
  ["#/agents", /Codex local/],
  ["#/attention", /cargo test --workspace/],
  ["#/settings/project/p1", /Delete project/],
  ["#/settings/project/p1?tab=checks", /Time limit per check/],
  ["#/settings/project/p1?tab=workflow", /Merge failed/],
])("has no accessibility violation on %s", async (hash, text) => {
  const { container } = openApp(createSampleHost(null, 20), hash);
  await screen.findAllByText(text);
  expect(await violationsIn(container)).toEqual([]);
});
