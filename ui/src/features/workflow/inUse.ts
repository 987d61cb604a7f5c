/** The tasks that stand in states which a definition would remove, as the engine names them. Pure. */
import type { ApiError } from "#ui/api/error.ts";
import { isTree } from "#ui/draft/path.ts";

export interface TaskInUse {
  readonly number: number;
  readonly title: string;
  readonly status: string;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

export function tasksIn(error: ApiError): readonly TaskInUse[] {
  const tasks = isTree(error.details) ? error.details["tasks"] : undefined;
  if (!Array.isArray(tasks)) return [];
  return tasks.flatMap((task) => {
    if (!isTree(task) || typeof task["number"] !== "number") return [];
    const status = text(task["status"]) || text(task["state"]);
    return [{ number: task["number"], title: text(task["title"]), status }];
  });
}
