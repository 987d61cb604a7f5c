/** What a task left behind, as its tab shows it. Pure. */
import type { Debrief, GateFailure, Postmortem } from "#ui/api/generated.ts";

export const hasDebrief = (debrief: Debrief | undefined): boolean =>
  debrief !== undefined && (debrief.note !== null || debrief.postmortems.length > 0);

/** The newest first: it knows what the earlier ones did. */
export const newestFirst = (postmortems: readonly Postmortem[]): readonly Postmortem[] =>
  postmortems.toSorted((one, other) => other.number - one.number);

/** A gate as people know it: the reviewer and the person have names, a check is its command. */
export type GateName =
  | { readonly type: "auditor" | "person" }
  | { readonly type: "check"; readonly command: string };

export function gateName(gate: GateFailure["gate"]): GateName {
  return gate === "auditor" || gate === "person"
    ? { type: gate }
    : { type: "check", command: gate };
}
