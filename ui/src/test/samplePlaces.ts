/** Worktrees, what is left of some, and backups, as the sample host keeps them. */
import type { AdoptOrphan, Project, Task } from "#ui/api/generated.ts";
import {
  sampleBackup,
  sampleDisk,
  sampleOrphan,
  sampleTask,
  sampleWorkspaceView,
} from "./sample.ts";
import { at } from "./sampleTasks.ts";

interface Places {
  readonly projects: readonly Project[];
  readonly tasks: Task[];
  refuse(code: string, message: string): never;
  changed(...tags: string[]): void;
}

const page = <Item>(items: readonly Item[]) => ({ items: [...items], next_cursor: null });

export function createSamplePlaces({ projects, tasks, refuse, changed }: Places) {
  // What is on disk is dated by the real clock here, as the tasks are.
  const worktrees = tasks
    .filter(({ live }) => live !== null)
    .slice(0, 4)
    .map((each, index) =>
      sampleWorkspaceView({
        id: `w${each.id}`,
        task_id: each.id,
        project_id: each.project_id,
        task_number: each.number,
        task_title: each.title,
        task_status: each.status,
        disk_bytes: index === 2 ? null : 310_000_000 * (index + 1),
        lock:
          index === 0
            ? {
                execution_id: "e1",
                pid: 4711,
                start_time: 1,
                host: "desk",
                acquired_at: at(3),
              }
            : null,
        updated_at: at(index * 40 + 2),
      }),
    );
  const closed = tasks.find(({ status }) => status === "cancelled");
  if (closed) {
    worktrees.push(
      sampleWorkspaceView({
        id: "wc",
        task_id: closed.id,
        project_id: closed.project_id,
        task_number: closed.number,
        task_title: closed.title,
        task_status: closed.status,
        status: "scheduled",
        cleanup_at: at(-60 * 20),
        updated_at: at(240),
      }),
    );
  }
  const orphans =
    tasks.length > 0
      ? [
          sampleOrphan({ unmerged_commits: 3, uncommitted: 2, last_change: at(4_000) }),
          sampleOrphan({
            path: "/home/me/.local/share/forge/workspaces/website/left-behind",
            project_id: null,
            bytes: null,
            last_change: at(90_000),
            branch: null,
            adoptable: false,
          }),
        ]
      : [];
  return {
    workspace_list: () => page(worktrees),
    workspace_disk: () =>
      page(
        projects
          .filter(({ id }) => worktrees.some(({ project_id }) => project_id === id))
          .map(({ id }) =>
            sampleDisk({
              project_id: id,
              unmeasured: 1,
              slots: 2,
              slots_bytes: 420_000_000,
              cap_bytes: 1_500_000_000,
              over: true,
            }),
          ),
      ),
    workspace_measure: () => ({ done: true }),
    workspace_orphans: () => page(orphans),
    workspace_keep: ({ task_id }: { task_id: string }) => {
      const index = worktrees.findIndex((each) => each.task_id === task_id);
      const kept = worktrees[index];
      if (!kept) return refuse("not_found", "failed to keep the worktree: there is none");
      worktrees[index] = { ...kept, status: "active", cleanup_at: null };
      changed("workspaces", `task:${task_id}`);
      return worktrees[index];
    },
    workspace_remove: ({ task_id }: { task_id: string }) => {
      const index = worktrees.findIndex((each) => each.task_id === task_id);
      const [gone] = worktrees.splice(index, 1);
      changed("workspaces", `task:${task_id}`);
      return gone;
    },
    orphan_reclaim: ({ path }: { path: string }) => {
      orphans.splice(
        orphans.findIndex((each) => each.path === path),
        1,
      );
      changed("workspaces");
      return { done: true };
    },
    orphan_adopt: ({ path, project_id, title }: AdoptOrphan) => {
      const index = orphans.findIndex((each) => each.path === path);
      const [taken] = orphans.splice(index, 1);
      const number =
        Math.max(
          0,
          ...tasks.filter((each) => each.project_id === project_id).map(({ number }) => number),
        ) + 1;
      const added = sampleTask({
        id: `t${number}-${project_id}`,
        number,
        project_id,
        title: title ?? taken?.branch ?? "",
        status_since: at(0),
      });
      tasks.push(added);
      changed("workspaces", `board:${project_id}`);
      return added;
    },
    project_backups: ({ project_id }: { project_id: string }) =>
      page(
        worktrees
          .filter((each) => each.project_id === project_id)
          .slice(0, 2)
          .map(({ task_id }, index) =>
            sampleBackup({
              task_id,
              ref_name: `refs/forge/backup/${task_id}/1`,
              files: index + 2,
              at: at(300 * (index + 1)),
            }),
          ),
      ),
    backup_restore: () => ({ done: true }),
  };
}
