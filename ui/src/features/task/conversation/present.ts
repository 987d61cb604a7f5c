/** Reads bodies of log entries, whatever an agent has put in them. Pure and total. */
import { textIn, type Body } from "./log.ts";

export function stringIn(body: Body, key: string): string | null {
  const value = body[key];
  return typeof value === "string" && value !== "" ? value : null;
}

export function numberIn(body: Body, key: string): number | null {
  const value = body[key];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** The first line that says something, for a folded row. */
export function firstLine(text: string): string {
  return (
    text
      .split("\n")
      .find((line) => line.trim() !== "")
      ?.trim() ?? ""
  );
}

const rulesHead = /^# How you work here$/m;
const taskHead = /^# Task (#\d+: .+)$/m;
const subtaskHead = /^# Your turn now: subtask (#\d+: .+)$/m;

/**
 * What a prompt is about, for a folded row. A prompt that Forge composed begins with an agent's profile and the rules
 * that all runs share; its task, or the subtask whose turn it is, tells it from the others. What a person wrote is
 * told by its first line.
 */
export function promptSubject(text: string): string {
  const composed = rulesHead.test(text) ? (subtaskHead.exec(text) ?? taskHead.exec(text)) : null;
  return composed?.[1]?.trim() ?? firstLine(text).replace(/^#+\s*/, "");
}

export function pretty(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** A tool's input in one line: its likeliest argument, else all of it. */
export function shortInput(input: unknown): string {
  if (input === undefined || input === null) return "";
  if (typeof input !== "object") return firstLine(String(input));
  const fields = input as Record<string, unknown>;
  for (const key of ["file_path", "path", "pattern", "query", "url", "command", "description"]) {
    const value = fields[key];
    if (typeof value === "string" && value !== "") return firstLine(value);
  }
  return JSON.stringify(input);
}

export interface PlanStep {
  readonly text: string;
  readonly done: boolean;
  readonly current: boolean;
}

export function planSteps(body: Body): readonly PlanStep[] {
  const steps = Array.isArray(body["steps"]) ? (body["steps"] as unknown[]) : [];
  const read = steps.flatMap((step) => {
    if (typeof step !== "object" || step === null) return [];
    const fields = step as Body;
    return [{ text: textIn(fields), done: fields["done"] === true }];
  });
  const current = read.findIndex(({ done }) => !done);
  return read.map((step, index) => ({ ...step, current: index === current }));
}

export interface MiniLine {
  readonly kind: "added" | "removed" | "context" | "hunk";
  readonly text: string;
}

const fileHeads = [
  "diff --git",
  "index ",
  "--- ",
  "+++ ",
  "new file",
  "deleted file",
  "\\ No newline",
];

/** The lines of a unified diff that are worth a look. */
export function miniDiff(diff: string): readonly MiniLine[] {
  return diff
    .replace(/\n$/, "")
    .split("\n")
    .filter((line) => !fileHeads.some((head) => line.startsWith(head)))
    .map((line) => {
      if (line.startsWith("@@")) return { kind: "hunk", text: line };
      if (line.startsWith("+")) return { kind: "added", text: line.slice(1) };
      if (line.startsWith("-")) return { kind: "removed", text: line.slice(1) };
      return { kind: "context", text: line.startsWith(" ") ? line.slice(1) : line };
    });
}

export function countLines(lines: readonly MiniLine[]): { added: number; removed: number } {
  return {
    added: lines.filter(({ kind }) => kind === "added").length,
    removed: lines.filter(({ kind }) => kind === "removed").length,
  };
}

export interface Finding {
  readonly file: string | null;
  readonly line: number | null;
  readonly severity: string | null;
  readonly text: string;
}

export function findings(body: Body): readonly Finding[] {
  const found = Array.isArray(body["findings"]) ? (body["findings"] as unknown[]) : [];
  return found.flatMap((finding) => {
    if (typeof finding !== "object" || finding === null) return [];
    const fields = finding as Body;
    return [
      {
        file: stringIn(fields, "file"),
        line: numberIn(fields, "line"),
        severity: stringIn(fields, "severity"),
        text: textIn(fields),
      },
    ];
  });
}
