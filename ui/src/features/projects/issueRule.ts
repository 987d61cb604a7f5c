/** Issues that are imported automatically, and labels of states, between their fields and the settings. Pure. */
import type { IssueRule } from "#ui/api/generated.ts";
import { labelsFrom } from "#ui/domain/machines/machines.ts";
import { typing } from "./typed.ts";

/** As in the engine, where a rule does not say how often. */
export const usualMinutes = 10;

export interface RuleDraft {
  /** As typed: separated by commas. */
  readonly labels: string;
  readonly into: string | null;
  readonly minutes: string;
}

export const ruleDraftOf = ({ labels, into, every_minutes }: IssueRule): RuleDraft => ({
  labels: labels.join(", "),
  into: into ?? null,
  minutes: typing.number.shown(every_minutes),
});

/** The merge patch of what is typed: null returns to what the engine chooses. */
export const ruleOf = ({ labels, into, minutes }: RuleDraft) => ({
  labels: labelsFrom(labels),
  into,
  every_minutes: typing.number.said(minutes),
});

export type StateLabels = Readonly<Record<string, string>>;

/** The merge patch of what is typed: a state without a label is named with null; null when no state has one. */
export function stateLabelsOf(typed: StateLabels): Record<string, string | null> | null {
  const labels = Object.entries(typed).map(([state, text]) => [state, text.trim() || null]);
  return labels.some(([, label]) => label !== null) ? Object.fromEntries(labels) : null;
}
