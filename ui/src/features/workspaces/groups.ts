/** What is on disk, put in order by project. Pure. */
import type {
  OrphanFolder,
  Project,
  ProjectDisk,
  WorkspaceBackup,
  WorkspaceView,
} from "#ui/api/generated.ts";

export interface ProjectGroup {
  readonly project: Project;
  readonly disk: ProjectDisk | null;
  readonly worktrees: readonly WorkspaceView[];
}

const inUse = (each: WorkspaceView): number => (each.lock ? 0 : 1);

/** Those that somebody changes now come first, then by task, the newest first. */
function sorted(worktrees: readonly WorkspaceView[]): WorkspaceView[] {
  return [...worktrees].sort(
    (one, other) => inUse(one) - inUse(other) || other.task_number - one.task_number,
  );
}

/** The projects that take space, those over their cap first, then by name. */
export function groupsOf(
  projects: readonly Project[],
  worktrees: readonly WorkspaceView[],
  disks: readonly ProjectDisk[],
): ProjectGroup[] {
  return projects
    .map((project) => ({
      project,
      disk: disks.find((each) => each.project_id === project.id) ?? null,
      worktrees: sorted(worktrees.filter((each) => each.project_id === project.id)),
    }))
    .filter(({ worktrees: own, disk }) => own.length > 0 || (disk?.slots ?? 0) > 0)
    .sort(
      (one, other) =>
        Number(other.disk?.over ?? false) - Number(one.disk?.over ?? false) ||
        one.project.name.localeCompare(other.project.name),
    );
}

/** All that a project's worktrees take: of its tasks and of the pool. */
export function usedBytes(disk: ProjectDisk): number {
  return (disk.tasks_bytes ?? 0) + (disk.slots_bytes ?? 0);
}

/** How much of a cap is used, in percent; above 100 when it is exceeded. */
export function usedShare(disk: ProjectDisk): number | null {
  if (disk.cap_bytes === null || disk.cap_bytes <= 0) return null;
  return Math.round((100 * usedBytes(disk)) / disk.cap_bytes);
}

/** Whether a task's removed worktree could take a backup: it is there, and nobody uses it. */
export function canRestore(backup: WorkspaceBackup, worktrees: readonly WorkspaceView[]): boolean {
  return worktrees.some(
    (each) => each.task_id === backup.task_id && each.status !== "creating" && each.lock === null,
  );
}

/** The folder that a backup was made of, when it belonged to no task. */
export function orphanOf({ task_id: id }: WorkspaceBackup): string | null {
  return id.startsWith("orphan-") ? id.slice("orphan-".length) : null;
}

/** The end of a path, which tells folders of one root apart. */
export function folderName(path: string): string {
  const parts = path.split(/[/\\]/).filter(Boolean);
  const last = parts.at(-1) === "tree" ? parts.slice(-3, -1) : parts.slice(-2);
  return last.join("/");
}

/** What would have to be looked at before a folder goes. */
export function holdsWork({ unmerged_commits: commits, uncommitted }: OrphanFolder): boolean {
  return commits > 0 || uncommitted > 0;
}
