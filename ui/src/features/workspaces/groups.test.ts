import { describe, expect, it } from "vitest";
import {
  sampleBackup,
  sampleDisk,
  sampleOrphan,
  sampleProject,
  sampleWorkspaceView,
} from "#ui/test/sample.ts";
import {
  canRestore,
  folderName,
  groupsOf,
  holdsWork,
  orphanOf,
  usedBytes,
  usedShare,
} from "./groups.ts";

const lock = { execution_id: "e1", pid: 1, start_time: 1, host: "desk", acquired_at: "" };
const projects = [
  sampleProject({ id: "p2", name: "Parser" }),
  sampleProject({ id: "p1", name: "Website" }),
  sampleProject({ id: "p3", name: "Archive" }),
];

it("groups by project: those over their cap first, those with nothing not at all", () => {
  const groups = groupsOf(
    projects,
    [
      sampleWorkspaceView({ id: "a", task_number: 3 }),
      sampleWorkspaceView({ id: "b", task_number: 8 }),
      sampleWorkspaceView({ id: "c", task_number: 1, lock }),
      sampleWorkspaceView({ id: "d", project_id: "p2" }),
    ],
    [sampleDisk({ over: true }), sampleDisk({ project_id: "p3" })],
  );
  expect(groups.map(({ project }) => project.name)).toEqual(["Website", "Parser"]);
  expect(groups[0]?.worktrees.map(({ id }) => id)).toEqual(["c", "b", "a"]);
  expect(groups[1]?.disk).toBeNull();
});

it("shows a project that has nothing but finished worktrees kept for the next task", () => {
  const [group] = groupsOf(projects, [], [sampleDisk({ project_id: "p3", slots: 2 })]);
  expect(group?.project.name).toBe("Archive");
});

describe("disk space", () => {
  it("is that of the tasks and of the pool", () => {
    const disk = sampleDisk({ tasks_bytes: 300, slots_bytes: 100, cap_bytes: 1_000 });
    expect(usedBytes(disk)).toBe(400);
    expect(usedShare(disk)).toBe(40);
    expect(usedShare(sampleDisk({ cap_bytes: null }))).toBeNull();
  });
});

it("restores where the task has a worktree that nobody uses", () => {
  const backup = sampleBackup();
  expect(canRestore(backup, [sampleWorkspaceView()])).toBe(true);
  expect(canRestore(backup, [sampleWorkspaceView({ lock })])).toBe(false);
  expect(canRestore(backup, [sampleWorkspaceView({ status: "creating" })])).toBe(false);
  expect(canRestore(backup, [sampleWorkspaceView({ task_id: "t2" })])).toBe(false);
});

it("tells backups of folders from those of tasks", () => {
  expect(orphanOf(sampleBackup())).toBeNull();
  expect(orphanOf(sampleBackup({ task_id: "orphan-left-behind" }))).toBe("left-behind");
});

it("names a folder by its end", () => {
  expect(folderName("/data/workspaces/website/9-drop-it-77aa/tree")).toBe("website/9-drop-it-77aa");
  expect(folderName("/data/workspaces/website/left-behind")).toBe("website/left-behind");
});

it("tells folders that hold work from those that do not", () => {
  expect(holdsWork(sampleOrphan())).toBe(false);
  expect(holdsWork(sampleOrphan({ unmerged_commits: 1 }))).toBe(true);
  expect(holdsWork(sampleOrphan({ uncommitted: 1 }))).toBe(true);
});
