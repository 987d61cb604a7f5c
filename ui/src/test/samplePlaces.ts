/** Worktrees, what is left of some, and backups, as the sample host keeps them. */
import type { OrphanFolder, Project, Task } from "#ui/api/generated.ts";
import { pageOf, type Handlers } from "./answers.ts";
import { sampleBackup, sampleDisk, sampleOrphan, sampleWorkspaceView } from "./sample.ts";
import { at } from "./sampleTasks.ts";

export const sampleOrphans = (): OrphanFolder[] => [
  sampleOrphan({ unmerged_commits: 3, uncommitted: 2, last_change: at(4_000) }),
  sampleOrphan({
    path: "/home/me/.local/share/forge/workspaces/website/left-behind",
    project_id: null,
    bytes: null,
    last_change: at(90_000),
    branch: null,
    adoptable: false,
  }),
];

export function placeAnswers(projects: readonly Project[], tasks: readonly Task[]): Handlers {
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
        machine_id: each.workspace?.machine_id ?? null,
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
  return {
    workspace_list: () => pageOf(worktrees),
    workspace_disk: () =>
      pageOf(
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
    workspace_orphans: () => pageOf(tasks.length > 0 ? sampleOrphans() : []),
    project_backups: ({ project_id }) =>
      pageOf(
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
  };
}
