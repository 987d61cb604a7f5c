/** What an auditor's report says. Pure. */
import type { AuditFinding, AuditReport, Review, Severity, Task } from "#ui/api/generated.ts";

/** `unusable`: the reviewer gave no verdict, which says nothing about the work. */
export type AuditOutcome = "passed" | "rejected" | "unusable";

export function outcomeOfAudit({ verdict }: Pick<AuditReport, "verdict">): AuditOutcome {
  if (verdict === null) return "unusable";
  return verdict === "pass" ? "passed" : "rejected";
}

const weights: readonly Severity[] = ["error", "warning", "info"];

/** The weightiest first; what weighs the same by file and line. */
export function inOrder(findings: readonly AuditFinding[]): readonly AuditFinding[] {
  return [...findings].sort(
    (one, other) =>
      weights.indexOf(one.severity) - weights.indexOf(other.severity) ||
      one.file.localeCompare(other.file) ||
      (one.line ?? 0) - (other.line ?? 0),
  );
}

/** Whether an auditor judges this attempt right now. */
export function isAudited(task: Pick<Task, "live">, review: Pick<Review, "status">): boolean {
  return review.status === "running" && task.live?.role === "reviewer";
}

/** What a score means at a glance; the number says the rest. */
export function scoreTone(score: number): "danger" | "warning" | "success" {
  if (score < 50) return "danger";
  return score < 75 ? "warning" : "success";
}

/** "src/limit.rs:88", or the file alone. */
export const placeText = ({ file, line }: Pick<AuditFinding, "file" | "line">): string =>
  line === null ? file : `${file}:${line}`;
