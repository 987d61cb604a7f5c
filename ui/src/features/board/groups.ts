/** The rows of a column: its cards, or its cards under headings. Pure. */
import type { Task } from "#ui/api/generated.ts";
import { priorityLevel, priorityLevels, type PriorityLevel } from "#ui/domain/priority.ts";
import { agentOf } from "./format.ts";

export type Grouping = "none" | "priority" | "agent";

export type Row =
  | { readonly kind: "card"; readonly task: Task }
  | {
      readonly kind: "group";
      readonly by: Exclude<Grouping, "none">;
      /** An agent's id, `user`, or empty for nobody; the level's name for priorities. */
      readonly id: string;
      readonly level: PriorityLevel;
      readonly count: number;
    };

/** Groups keep the board's order inside; priorities fall, agents come as they first appear. */
export function groupRows(
  items: readonly Task[],
  by: Grouping,
  workRole: string | null,
): readonly Row[] {
  if (by === "none") return items.map((task) => ({ kind: "card", task }));
  const groups = new Map<string, Task[]>(
    by === "priority" ? priorityLevels.map((level) => [level, []]) : [],
  );
  for (const task of items) {
    const id = by === "priority" ? priorityLevel(task.priority) : (agentOf(task, workRole) ?? "");
    const members = groups.get(id);
    if (members) members.push(task);
    else groups.set(id, [task]);
  }
  return [...groups]
    .filter(([, tasks]) => tasks.length > 0)
    .flatMap(([id, tasks]): Row[] => [
      {
        kind: "group",
        by,
        id,
        level: priorityLevel(tasks[0]?.priority ?? 0),
        count: tasks.length,
      },
      ...tasks.map((task): Row => ({ kind: "card", task })),
    ]);
}
