/** What is written of a new task: it outlives Escape, a click beside the dialog and the window. */
import type { Task } from "#ui/api/generated.ts";
import type { PriorityLevel } from "#ui/domain/priority.ts";
import type { RaceDraft } from "#ui/domain/race/strategies.ts";
import { useText } from "#ui/draft/useText.ts";
import { nobody, type Part } from "./draft.ts";

export interface Form {
  readonly title: string;
  readonly description: string;
  /** Null until one is chosen. */
  readonly agent: string | null;
  readonly reviewer: string;
  readonly priority: PriorityLevel;
  /** As typed, a line each; null leaves them to the project. */
  readonly checks: string | null;
  readonly machines: readonly string[] | null;
  readonly dependsOn: readonly Task[];
  readonly part: Part | null;
  readonly race: RaceDraft | null;
}

const empty: Form = {
  title: "",
  description: "",
  agent: null,
  reviewer: nobody,
  priority: "none",
  checks: null,
  machines: null,
  dependsOn: [],
  part: null,
  race: null,
};
const base = JSON.stringify(empty);

/** One draft a project. */
export function useNewTask(projectId: string) {
  const { text, isDirty, write, drop } = useText(`newTask:${projectId}`, base);
  // An earlier version may have kept fewer fields.
  const form: Form = { ...empty, ...(JSON.parse(text) as Partial<Form>) };
  return {
    form,
    isBegun: isDirty,
    set: (change: Partial<Form>) => write(JSON.stringify({ ...form, ...change })),
    drop,
  };
}
