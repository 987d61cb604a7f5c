/** How many comments on the diff are written and not yet told to anybody. */
import { useOp } from "#ui/api/client.ts";

export function useDraftCount(taskId: string): number {
  const comments = useOp("task_comments", { task_id: taskId }).data?.items;
  return comments?.filter(({ status }) => status === "draft").length ?? 0;
}
