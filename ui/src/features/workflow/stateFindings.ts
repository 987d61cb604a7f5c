/** Findings of one state: which of them a field shows, and which are left to be said above. Pure. */
import type { Finding } from "#ui/api/generated.ts";
import { findingsIn } from "#ui/draft/findings.ts";

const fields = [
  /^name$/,
  /^display_name$/,
  /^kind$/,
  /^column$/,
  /^role$/,
  /^cleanup([.[].*)?$/,
  /^gate_config\.(reject_target|max_rejections|requires_user_approval|optional_when_unassigned|approve_label|reject_label)\b/,
  /^config\.retry_budgets\.(review|merge_fix|execution)$/,
  /^triggers(\.[^.[]+|\["(?:[^"\\]|\\.)*"\])(\.(to|prompt|session))?$/,
  /^hooks\.(before_exit|on_exit|before_enter|on_enter|after_enter)\[\d+\]/,
];

export const findingsOfState = (findings: readonly Finding[], index: number): readonly Finding[] =>
  findingsIn(findings, `states[${index}]`);

export function unclaimedIn(findings: readonly Finding[], index: number): readonly Finding[] {
  const place = `states[${index}]`;
  return findingsOfState(findings, index).filter(({ path }) => {
    const inner = path.slice(place.length).replace(/^\./, "");
    return !fields.some((field) => field.test(inner));
  });
}
