/** Which of the runs that are over are shown. Pure. */
import type { CostRow } from "#ui/api/generated.ts";

export const ended = ["finished", "failed", "cancelled", "lost"] as const;
export const any = "any";

export interface Filter {
  readonly text: string;
  readonly status: string;
}

export function isShown(run: CostRow, { text, status }: Filter): boolean {
  if (status !== any && run.status !== status) return false;
  const words = text.trim().toLocaleLowerCase();
  const said = [`#${run.task_number} ${run.task_title}`, run.agent_name, run.model ?? ""];
  return said.some((each) => each.toLocaleLowerCase().includes(words));
}
