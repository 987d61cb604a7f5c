/** What runs, from two looks at it: who uses the processor now, and which process started which. Pure. */
import type { RunInfo, RunProcess } from "#ui/api/generated.ts";

export interface Look {
  /** When, in milliseconds. */
  readonly at: number;
  readonly runs: readonly RunInfo[];
}

/** A process number is given again; its start tells one process from a later one, to the second. */
const sameMs = 2_000;
const isSame = (one: RunProcess, other: RunProcess): boolean =>
  Math.abs(Date.parse(one.started_at) - Date.parse(other.started_at)) < sameMs;

/** Processor time spent between two looks, in percent of one processor, by process; null before a second look. */
export function cpuOf(before: Look | null, now: Look): (process: RunProcess) => number | null {
  const elapsed = before ? now.at - before.at : 0;
  if (!before || elapsed <= 0) return () => null;
  const known = new Map(
    before.runs.flatMap(({ processes }) => processes).map((each) => [each.pid, each] as const),
  );
  return (process) => {
    const earlier = known.get(process.pid);
    // One that began since spent all of its time since.
    const spent = earlier && isSame(earlier, process) ? (earlier.cpu_ms ?? 0) : 0;
    return (Math.max(0, (process.cpu_ms ?? 0) - spent) / elapsed) * 100;
  };
}

export interface Totals {
  readonly cpu: number | null;
  readonly memory: number;
}

export function totalsOf(
  { processes }: RunInfo,
  cpu: (process: RunProcess) => number | null,
): Totals {
  let percent: number | null = null;
  for (const process of processes) {
    const used = cpu(process);
    if (used !== null) percent = (percent ?? 0) + used;
  }
  const memory = processes.reduce((sum, { rss_bytes: bytes }) => sum + (bytes ?? 0), 0);
  return { cpu: percent, memory };
}

export interface TreeRow {
  readonly process: RunProcess;
  readonly depth: number;
}

/** Parents first, each followed by those that it started. */
export function treeOf(processes: readonly RunProcess[]): readonly TreeRow[] {
  const known = new Set(processes.map(({ pid }) => pid));
  const rows: TreeRow[] = [];
  const seen = new Set<number>();
  const place = (process: RunProcess, depth: number) => {
    if (seen.has(process.pid)) return;
    seen.add(process.pid);
    rows.push({ process, depth });
    for (const each of processes) if (each.parent === process.pid) place(each, depth + 1);
  };
  for (const process of processes) {
    if (process.parent === null || !known.has(process.parent)) place(process, 0);
  }
  for (const process of processes) place(process, 0);
  return rows;
}

export type Stop = "execution" | "checks";

/** How it is stopped: an agent by itself, checks with their review; other scripts end with their step. */
export function stopOf(run: RunInfo): Stop | null {
  if (run.execution_id !== null) return "execution";
  return run.id.startsWith("check-") && run.task_id !== null ? "checks" : null;
}
