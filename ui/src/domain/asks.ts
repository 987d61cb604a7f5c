/** Questions of agents that wait for a person, read once for the whole window. */
import { useQuery } from "@tanstack/react-query";
import { opQuery } from "#ui/api/client.ts";
import type { Approval, ApprovalChoice, ApprovalOption, Task } from "#ui/api/generated.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";

/** The task that people know a question's asker by: of a race's entry, the raced one. */
export const askedFor = ({ task_id, raced }: Approval): string => raced?.task_id ?? task_id;

/** Whether agents may ask something now: the task's own, or those of its race's entries. */
export const mayAsk = ({ live, raced }: Pick<Task, "live" | "raced">): boolean =>
  live !== null || raced?.status === "running";

/** A question in one line, with the entry of a race that asks. */
export const askLine = ({ title, raced }: Approval): string =>
  raced === null ? title : `${raced.name}: ${title}`;

/** What a task's agent asks, in one line; null when it asks nothing. Draws only when that changes. */
export function useAsk(task: string, enabled: boolean): string | null {
  const platform = usePlatform();
  const asked = useQuery({
    ...opQuery(platform, "approval_list", {}),
    enabled,
    select: ({ items }) => {
      const own = items.find(({ task_id: id }) => id === task);
      const ofEntry = items.find((asked) => askedFor(asked) === task);
      return own?.title ?? (ofEntry === undefined ? null : askLine(ofEntry));
    },
  });
  return enabled ? (asked.data ?? null) : null;
}

const plain: readonly ApprovalChoice[] = ["allow_once", "reject_once"];

/** The options that need no second thought and no words: yes and no, this once. */
export function quickOptions(approval: Approval): readonly ApprovalOption[] {
  if (approval.kind === "question") return [];
  return plain.flatMap((choice) => {
    const found = approval.options.find((option) => option.choice === choice);
    return found ? [found] : [];
  });
}
