/** One task, beside the board or on a page of its own: the same component. */
import { useOp } from "#ui/api/client.ts";

export interface TaskPanelProps {
  readonly projectId: string;
  readonly taskId: string;
  readonly mode: "panel" | "page";
  /** How to go away; the default takes `task` out of the address's query, or goes to the board. */
  readonly onClose?: () => void;
}

export function TaskPanel({ taskId }: TaskPanelProps) {
  const task = useOp("task_get", { task_id: taskId });
  return <article>{task.data?.title}</article>;
}
