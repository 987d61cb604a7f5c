/** What validation found, as the tab shows it. Pure. */
import type {
  Attempt,
  CheckResult,
  ContractPair,
  LogEvents,
  Measures,
  Task,
  ValidateInput,
} from "#ui/api/generated.ts";
import { isComplete } from "#ui/domain/validate/contracts.ts";

/** Whose attempts are counted: by default the task's own. */
export interface Module {
  readonly moduleId: string;
  readonly runId: string | null;
}

/** What a call needs to know besides its checks; null where there is no worktree to check. */
export interface Place {
  readonly project_id: string;
  readonly cwd: string;
}

export function placeOf(task: Task): Place | null {
  const cwd = task.workspace?.status === "active" ? task.workspace.path : null;
  return cwd === null ? null : { project_id: task.project_id, cwd };
}

const same = (one: Module, other: Module): boolean =>
  one.moduleId === other.moduleId && one.runId === other.runId;

/** The task's own module, and every other that was validated in its worktree; the latest first. */
export function modulesOf(task: Task, log: LogEvents | undefined): readonly Module[] {
  const modules: Module[] = [{ moduleId: task.id, runId: null }];
  for (const { taskId, moduleId, runId } of log?.items.toReversed() ?? []) {
    const module = { moduleId, runId: runId ?? null };
    if (taskId === task.id && !modules.some((each) => same(each, module))) modules.push(module);
  }
  return modules;
}

export type Outcome = "passed" | "failed" | "unknown";

export const outcomeOf = ({ passed }: CheckResult): Outcome =>
  passed === null ? "unknown" : passed ? "passed" : "failed";

export function subjectOf(check: CheckResult): string {
  switch (check.type) {
    case "cwd_check":
      return check.cwd;
    case "file_check":
    case "syntax_check":
      return check.file;
    case "contract_check":
      return `${check.importer} ← ${check.exporter}`;
    case "command":
      return check.command;
  }
}

/** Both streams; the errors last, where the eye ends up. */
export const outputOf = ({ stdout, stderr }: { stdout: string; stderr: string }): string =>
  [stdout, stderr]
    .map((text) => text.replace(/\n+$/, ""))
    .filter((text) => text !== "")
    .join("\n");

export function counted(results: readonly CheckResult[]): { passed: number; all: number } {
  const known = results.filter(({ passed }) => passed !== null);
  return { passed: known.filter(({ passed }) => passed === true).length, all: known.length };
}

/** Why the recommendation is what it is. */
export type Why = "passed" | "failed" | "same" | "oscillating" | "flat";

export function whyOf({ recommendation, sameAsPrev, oscillating }: Measures): Why {
  if (recommendation === "PROCEED") return "passed";
  if (recommendation === "RETRY") return "failed";
  return sameAsPrev ? "same" : oscillating ? "oscillating" : "flat";
}

/** What is written in the form: a line each. */
export interface Draft {
  readonly commands: string;
  readonly files: string;
  readonly contracts: readonly ContractPair[];
}

const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** What was checked last, else what the task's reviews check. */
export const draftOf = (
  input: ValidateInput | null | undefined,
  checks: readonly string[],
): Draft => ({
  commands: (input?.commands ?? checks).join("\n"),
  files: (input?.files ?? []).join("\n"),
  contracts: input?.contractChecks ?? [],
});

export function inputOf(draft: Draft, module: Module, place: Place): ValidateInput {
  return {
    moduleId: module.moduleId,
    runId: module.runId,
    ...place,
    commands: linesOf(draft.commands),
    files: linesOf(draft.files),
    contractChecks: draft.contracts.filter(isComplete),
  };
}

export const hasChecks = ({ commands, files, contractChecks }: ValidateInput): boolean =>
  commands.length + (files?.length ?? 0) + (contractChecks?.length ?? 0) > 0;

/** Newest first, all but the one that is shown in full. */
export const earlierOf = (attempts: readonly Attempt[]): readonly Attempt[] =>
  attempts.slice(0, -1).toReversed();
