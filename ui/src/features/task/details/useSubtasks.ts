/** A task's parts. What happens to one of them is told as its own change, not as its parent's. */
import { useOp } from "#ui/api/client.ts";
import type { Task } from "#ui/api/generated.ts";

export function useSubtasks({ id, project_id: project, subtasks }: Task) {
  return useOp(
    "task_subtasks",
    { task_id: id },
    { enabled: subtasks.total > 0, tags: [`board:${project}`] },
  );
}
