/** Questions of agents that wait for a person, read once for the whole window. */
import { useQuery } from "@tanstack/react-query";
import { opQuery } from "#ui/api/client.ts";
import type { Approval, ApprovalChoice, ApprovalOption } from "#ui/api/generated.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";

/** What a task's agent asks, in one line; null when it asks nothing. Draws only when that changes. */
export function useAsk(task: string, enabled: boolean): string | null {
  const platform = usePlatform();
  const asked = useQuery({
    ...opQuery(platform, "approval_list", {}),
    enabled,
    select: ({ items }) => items.find(({ task_id: id }) => id === task)?.title ?? null,
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
