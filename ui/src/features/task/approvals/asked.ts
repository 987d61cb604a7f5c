/** What an agent's question shows and how it is answered. Pure. */
import type { Approval, ApprovalChoice, ApprovalOption } from "#ui/api/generated.ts";

export interface Asked {
  readonly reason: string | null;
  readonly command: string | null;
  readonly cwd: string | null;
  readonly paths: readonly string[];
  readonly diff: string | null;
  readonly input: unknown;
}

/** Reads a question's detail, whatever an adapter has put in it. */
export function askedOf(detail: unknown): Asked {
  const fields = typeof detail === "object" && detail !== null ? detail : {};
  const read = (key: string) => (fields as Record<string, unknown>)[key];
  const text = (key: string) => {
    const value = read(key);
    return typeof value === "string" && value !== "" ? value : null;
  };
  const paths = read("paths");
  return {
    reason: text("reason"),
    command: text("command"),
    cwd: text("cwd"),
    paths: Array.isArray(paths) ? paths.filter((path) => typeof path === "string") : [],
    diff: text("diff"),
    input: read("input") ?? null,
  };
}

const saysYes: readonly ApprovalChoice[] = ["allow_once", "allow_always"];
const saysNo: readonly ApprovalChoice[] = ["reject_once", "reject_always", "stop"];

const firstOf = (options: readonly ApprovalOption[], choices: readonly ApprovalChoice[]) => {
  for (const choice of choices) {
    const found = options.find((option) => option.choice === choice);
    if (found) return found;
  }
  return null;
};

/** The option that a key chooses: `y`, `n`, or its place from 1; null for any other key. */
export function optionFor(key: string, options: readonly ApprovalOption[]): ApprovalOption | null {
  if (key === "y") return firstOf(options, saysYes);
  if (key === "n") return firstOf(options, saysNo);
  return /^[1-9]$/.test(key) ? (options[Number(key) - 1] ?? null) : null;
}

/** The key shown on an option's button. */
export function keyOf(option: ApprovalOption, options: readonly ApprovalOption[]): string {
  if (optionFor("y", options) === option) return "y";
  if (optionFor("n", options) === option) return "n";
  return String(options.indexOf(option) + 1);
}

const near = 120_000;

/**
 * The stored question behind a log's entry. The log names it by the program's own word, the store by
 * another; they are the same where run and title are, and the times nearest.
 */
export function approvalAt(
  approvals: readonly Approval[],
  execution: string,
  title: string,
  at: number,
): Approval | null {
  let best: Approval | null = null;
  let least = near;
  for (const approval of approvals) {
    if (approval.execution_id !== execution || approval.title !== title) continue;
    const apart = Math.abs(Date.parse(approval.asked_at) - at);
    if (apart < least) {
      best = approval;
      least = apart;
    }
  }
  return best;
}
