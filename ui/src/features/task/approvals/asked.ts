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

/** The stored question behind a log's entry, which names it as the agent's program did. */
export function approvalOf(
  approvals: readonly Approval[],
  execution: string,
  ask: string,
): Approval | null {
  return approvals.find((it) => it.execution_id === execution && it.ask === ask) ?? null;
}
