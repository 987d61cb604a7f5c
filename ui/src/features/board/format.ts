/** What a card says in numbers and in a line. Pure; the locale is an argument. */
import type { AnnotationType, Task } from "#ui/api/generated.ts";
import type { KnownState } from "#ui/domain/useStates.ts";
import { glyphOf } from "#ui/domain/stateKinds.ts";
import type { StateKind } from "#ui/components/StateGlyph.tsx";

/** Micro-dollars as people read them: "$0.42"; what is not nothing never reads as nothing. */
export function money(microUsd: number, locale?: string): string {
  const format = new Intl.NumberFormat(locale, { style: "currency", currency: "USD" });
  if (microUsd > 0 && microUsd < 10_000) return `<${format.format(0.01)}`;
  return format.format(microUsd / 1_000_000);
}

/** Lines: "812", "1.2K". */
export function count(lines: number, locale?: string): string {
  return new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 }).format(
    lines,
  );
}

export type Line =
  | { readonly kind: "live"; readonly activity: string }
  /** It waits for an answer. */
  | { readonly kind: "asks"; readonly title: string }
  /** An agent judges the work. */
  | { readonly kind: "auditing"; readonly activity: string }
  | { readonly kind: "undo"; readonly until: string }
  | { readonly kind: "waiting"; readonly reason: string; readonly text: string }
  | { readonly kind: "trouble"; readonly type: AnnotationType; readonly text: string }
  | { readonly kind: "awaiting" }
  | { readonly kind: "checks" }
  | { readonly kind: "held" }
  /** It is closed, and commits of it are not merged. */
  | { readonly kind: "unmerged"; readonly byHand: boolean; readonly commits: number }
  | { readonly kind: "none" };

/** The one thing a card says below its title: the most pressing goes first. */
export function lineOf(task: Task, state: KnownState | undefined, ask: string | null = null): Line {
  if (task.waiting?.reason === "undo" && task.waiting.until) {
    return { kind: "undo", until: task.waiting.until };
  }
  if (ask !== null) return { kind: "asks", title: ask };
  if (task.live) {
    const { role, activity } = task.live;
    return { kind: role === "reviewer" ? "auditing" : "live", activity };
  }
  if (task.error_annotation) {
    const { type, message } = task.error_annotation;
    return { kind: "trouble", type, text: message };
  }
  if (state?.kind === "gate" && task.review?.status === "awaiting_human") {
    return { kind: "awaiting" };
  }
  if (task.waiting) {
    return { kind: "waiting", reason: task.waiting.reason, text: task.waiting.message };
  }
  if (state?.kind === "gate" && task.review?.status === "running") return { kind: "checks" };
  if (task.held) return { kind: "held" };
  const commits = task.unmerged_commits;
  if (state?.kind === "terminal" && (task.closed_unmerged || commits > 0)) {
    return { kind: "unmerged", byHand: task.closed_unmerged, commits };
  }
  return { kind: "none" };
}

/** Waits that end by what a person does. */
const personsWaits: ReadonlySet<string> = new Set(["race_crown", "no_machine", "start_required"]);

/** The tone of a line's words; its glyph says the same in another way. */
export function lineTone(line: Line): "accent" | "warning" | "danger" | "review" | "neutral" {
  switch (line.kind) {
    case "live":
      return "accent";
    case "trouble":
      return "danger";
    case "awaiting":
    case "asks":
    case "undo":
    case "unmerged":
      return "warning";
    case "checks":
    case "auditing":
      return "review";
    case "waiting":
      return personsWaits.has(line.reason) ? "warning" : "neutral";
    case "held":
    case "none":
      return "neutral";
  }
}

/** Who is shown on the card: whoever works now, else who holds the working role. */
export function agentOf(task: Task, workRole: string | null): string | null {
  if (task.live) return task.live.agent_id;
  const holder = workRole === null ? null : task.roles[workRole];
  return holder?.id ?? (holder ? "user" : null);
}

export const kindOf = (task: Task, state: KnownState | undefined): StateKind =>
  glyphOf(task, state);

/** Whether leaving its state would stop something. */
export function isBusy(task: Task): boolean {
  return task.live !== null || task.review?.status === "running";
}
