/** What is still to be written to an issue, by what is in its way. Pure. */
import type { ReportKind, UnsentReport } from "#ui/api/generated.ts";

export interface Problem {
  readonly kinds: readonly ReportKind[];
  readonly text: string;
  readonly remedy: string | null;
  /** The first of the next tries. */
  readonly retryAt: string | null;
}

/** One problem keeps several reports from being written; what has none is queued. */
export function problemsOf(unsent: readonly UnsentReport[]): {
  readonly problems: readonly Problem[];
  readonly queued: readonly ReportKind[];
} {
  const problems = new Map<string, Problem>();
  for (const { kind, problem: text, remedy, retry_at: at } of unsent) {
    if (text === null) continue;
    const key = JSON.stringify([text, remedy]);
    const found = problems.get(key);
    problems.set(key, {
      kinds: [...new Set([...(found?.kinds ?? []), kind])],
      text,
      remedy,
      retryAt: earlier(found?.retryAt ?? null, at),
    });
  }
  const queued = unsent.filter(({ problem }) => problem === null).map(({ kind }) => kind);
  return { problems: [...problems.values()], queued: [...new Set(queued)] };
}

function earlier(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return Date.parse(one) <= Date.parse(other) ? one : other;
}
