import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./WorkspacesScreen.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { pageOf, type Output } from "#ui/test/answers.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { sampleOrphans } from "#ui/test/samplePlaces.ts";

const open = (sample: string | null = null) => {
  const host = createSampleHost(sample, 60);
  return { host, ...openApp(host, "#/workspaces") };
};
const website = () => screen.findByRole("region", { name: "Worktrees of Website" });
const orphans = () => screen.findByRole("region", { name: "Orphaned folders" });

describe("worktrees", () => {
  it("name the machine that their task's programs run on", async () => {
    open("machines");
    const link = await screen.findByRole("link", { name: /^#1/ });
    const row = link.closest("li");
    await waitFor(() => expect(row?.textContent).toContain("gpu-box, Connected since"));
    const here = screen.getByRole("link", { name: /^#7/ }).closest("li");
    expect(here?.textContent).not.toContain("Connected");
  });

  it("are listed by project with what they take, and measured when the page is opened", async () => {
    const { host, container } = open();
    const section = await website();
    const meter = within(section).getByRole("meter", { name: "Disk usage of Website" });
    expect(meter.getAttribute("aria-valuetext")).toBe("1.7 GB of 1.5 GB");
    expect(within(section).getByRole("alert").textContent).toContain(
      "Worktrees of Website use 1.7 GB. The warning limit is 1.5 GB.",
    );
    expect(section.textContent).toContain("1 not measured yet");
    expect(section.textContent).toContain("2 finished worktrees kept for reuse, 420 MB");
    const rows = within(
      within(section).getByRole("list", { name: "Worktrees of Website" }),
    ).getAllByRole("listitem");
    expect(rows[0]?.textContent).toContain("in use");
    expect(rows.some((row) => row.textContent?.includes("Scheduled for removal"))).toBe(true);
    expect(inputsOf(host, "workspace_measure")).toEqual([{}]);
    expect(await violationsIn(container)).toEqual([]);
  });

  it("lead to the task's own tab, by the keys too", async () => {
    open();
    const section = await website();
    const [first] = within(section).getAllByRole("link");
    expect(first?.getAttribute("href")).toMatch(/^#\/task\/p1\/\d+\?tab=workspace$/);
    await userEvent.keyboard("j");
    expect(document.activeElement).toBe(first);
    await userEvent.keyboard("j");
    expect(document.activeElement).not.toBe(first);
    await userEvent.keyboard("k");
    expect(document.activeElement).toBe(first);
  });

  it("of closed tasks are kept or deleted", async () => {
    const { host } = open();
    const { items } = (await host.call("workspace_list", {})) as Output<"workspace_list">;
    const scheduled = items.find(({ status }) => status === "scheduled");
    if (!scheduled) throw new Error("no worktree is to be removed");
    const kept = { ...scheduled, status: "active" as const, cleanup_at: null };
    const others = items.filter((each) => each !== scheduled);
    const stays = () => host.answer("workspace_list", pageOf([...others, kept]));
    host.after("workspace_keep", kept, stays, "workspaces");
    const goes = () => host.answer("workspace_list", pageOf(others));
    host.after("workspace_remove", kept, goes, "workspaces");
    const of = [{ task_id: scheduled.task_id }];
    const section = await website();
    const row = within(section)
      .getAllByRole("listitem")
      .find(({ textContent }) => textContent?.includes("Scheduled for removal"));
    const actions = within(row ?? section).getByRole("button", { name: /^Actions for/ });
    await userEvent.click(actions);
    await userEvent.click(await screen.findByRole("menuitem", { name: "Keep" }));
    await waitFor(() => expect(section.textContent).not.toContain("Scheduled for removal"));
    expect(inputsOf(host, "workspace_keep")).toEqual(of);

    await userEvent.click(actions);
    await userEvent.click(await screen.findByRole("menuitem", { name: "Delete now" }));
    const dialog = await screen.findByRole("alertdialog");
    await userEvent.click(within(dialog).getByRole("button", { name: "Delete now" }));
    await waitFor(() => expect(inputsOf(host, "workspace_remove")).toEqual(of));
    await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
  });

  it("have backups, restored into a worktree that nobody uses", async () => {
    const { host } = open();
    const section = await website();
    await userEvent.click(await within(section).findByRole("button", { name: "2 backups" }));
    const list = within(section).getByRole("list", { name: "Backups" });
    const [used, free] = within(list).getAllByRole("button", { name: /^Restore backup/ });
    expect(used?.getAttribute("aria-disabled")).toBe("true");
    if (free) await userEvent.click(free);
    const dialog = await screen.findByRole("alertdialog", { name: "Restore this backup?" });
    expect(dialog.textContent).toContain("restores 3 files");
    await userEvent.click(within(dialog).getByRole("button", { name: "Restore" }));
    await waitFor(() => expect(inputsOf(host, "backup_restore")).toHaveLength(1));
  });
});

describe("folders without a task", () => {
  it("say what they hold, and are removed after a question", async () => {
    const { host } = open();
    const left = () => host.answer("workspace_orphans", pageOf(sampleOrphans().slice(1)));
    host.after("orphan_reclaim", { done: true }, left, "workspaces");
    const section = await orphans();
    expect(section.textContent).toContain("3 unmerged commits");
    expect(section.textContent).toContain("2 uncommitted files");
    await userEvent.click(
      within(section).getByRole("button", { name: "Remove website/9-drop-the-old-parser-77aa" }),
    );
    const dialog = await screen.findByRole("alertdialog", { name: "Remove this folder?" });
    expect(dialog.textContent).toContain("Backs up uncommitted work");
    expect(dialog.textContent).toContain("3 commits that are not in the default branch");
    expect(inputsOf(host, "orphan_reclaim")).toEqual([]);
    await userEvent.click(within(dialog).getByRole("button", { name: "Back up and remove" }));
    await waitFor(() => expect(inputsOf(host, "orphan_reclaim")).toHaveLength(1));
    expect(await screen.findByText(/96 MB freed/)).toBeTruthy();
    await waitFor(() => expect(section.textContent).not.toContain("9-drop-the-old-parser"));
  });

  it("become tasks, when they are worktrees of a project", async () => {
    const { host } = open();
    const section = await orphans();
    const none = within(section).getByRole("button", { name: "Adopt website/left-behind" });
    expect(none.getAttribute("aria-disabled")).toBe("true");
    await userEvent.click(
      within(section).getByRole("button", { name: "Adopt website/9-drop-the-old-parser-77aa" }),
    );
    const dialog = await screen.findByRole("dialog", { name: "Create a task from this folder" });
    await userEvent.type(within(dialog).getByRole("textbox", { name: "Title" }), "Drop it{Enter}");
    await waitFor(() =>
      expect(inputsOf(host, "orphan_adopt")).toMatchObject([
        { project_id: "p1", title: "Drop it" },
      ]),
    );
    expect(await screen.findByText(/now owns the folder/)).toBeTruthy();
  });
});

it("says what the page is for while there is nothing on it", async () => {
  const { container } = open("new");
  expect(await screen.findByText("No worktrees yet")).toBeTruthy();
  expect(await violationsIn(container)).toEqual([]);
});

it("says what went wrong", async () => {
  open("broken");
  expect(await screen.findByText("Could not load the worktrees")).toBeTruthy();
});

it("is reached by its key, and marked in the sidebar when a cap is exceeded", async () => {
  openApp(createSampleHost(null, 60), "#/agents");
  const link = await screen.findByRole("link", { name: /Workspaces/ });
  expect(await within(link).findByText("1 project exceeds its disk limit")).toBeTruthy();
  await userEvent.keyboard("gw");
  expect(await screen.findByRole("heading", { level: 1, name: "Workspaces" })).toBeTruthy();
});
