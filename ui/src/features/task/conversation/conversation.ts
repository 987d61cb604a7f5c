/**
 * What of a task's conversation is in memory: always its end, and as far back as was asked for.
 *
 * Executions stand in the order in which they began. Of each one the loaded entries are one
 * stretch that reaches to its last; only the earliest execution with anything loaded may lack its
 * beginning. So "earlier" has one meaning, and the newest is never missing. Pure.
 */
import type { Execution, LogEntry, LogPage } from "#ui/api/generated.ts";
import { foldEntries, isShown, mergeEntries, type LogRow } from "./log.ts";

export interface Stretch {
  readonly entries: readonly LogEntry[];
  readonly rows: readonly LogRow[];
  /** The number of the last entry that was read; 0 for none. */
  readonly last: number;
  /** Whether the log's first entry is among them. */
  readonly complete: boolean;
}

export type Stretches = ReadonlyMap<string, Stretch>;

export interface HeadRow {
  readonly type: "head";
  readonly key: string;
  readonly execution: Execution;
  /** Read, and nothing in it. */
  readonly empty: boolean;
}

/** Where the agent was spoken to again within one run. */
export interface TurnRow {
  readonly type: "turn";
  readonly key: string;
  readonly turn: number;
}

export type ConversationRow =
  | HeadRow
  | TurnRow
  | {
      readonly type: "log";
      readonly key: string;
      readonly row: LogRow;
      readonly execution: Execution;
    };

/** More new entries than this were missed: the end is read afresh instead of everything between. */
export const farBehind = 2_000;

export function addPage(known: Stretch | undefined, page: LogPage): Stretch {
  const entries = mergeEntries(known?.entries ?? [], page.entries);
  const same = known !== undefined && entries === known.entries;
  const first = entries[0]?.seq ?? 0;
  return {
    entries,
    rows: same ? known.rows : foldEntries(entries),
    last: Math.max(known?.last ?? 0, page.last_seq ?? 0),
    complete: (known?.complete ?? false) || first === 1 || (page.total ?? 0) === 0,
  };
}

/** So many entries are kept of a log whose end is read; twice as many before the others are let go. */
export const keptOfEnd = 1_000;

/** Its last entries, once there are many more; else the stretch itself. */
export function endOf(stretch: Stretch): Stretch {
  if (stretch.entries.length <= 2 * keptOfEnd) return stretch;
  const entries = stretch.entries.slice(-keptOfEnd);
  return { ...stretch, entries, rows: foldEntries(entries), complete: false };
}

/** The execution whose earlier entries are to be read next, and from where; null at the beginning. */
export function earlierThan(
  executions: readonly Execution[],
  stretches: Stretches,
): { readonly execution: Execution; readonly before: number | null } | null {
  for (const execution of executions.toReversed()) {
    const stretch = stretches.get(execution.id);
    if (!stretch) return { execution, before: null };
    if (!stretch.complete) return { execution, before: stretch.entries[0]?.seq ?? null };
  }
  return null;
}

export function inOrder(executions: readonly Execution[]): readonly Execution[] {
  return [...executions].sort(
    (one, other) => Date.parse(one.started_at) - Date.parse(other.started_at),
  );
}

export function rowsOf(
  executions: readonly Execution[],
  stretches: Stretches,
  /** Keys of the rows whose parts are put away. */
  closed: ReadonlySet<string> = new Set(),
): readonly ConversationRow[] {
  const rows: ConversationRow[] = [];
  for (const execution of executions) {
    const stretch = stretches.get(execution.id);
    if (!stretch) continue;
    const shown = stretch.rows.filter(isShown);
    if (stretch.complete) {
      const empty = shown.length === 0;
      rows.push({ type: "head", key: `head:${execution.id}`, execution, empty });
    }
    let turn: number | null = stretch.complete ? 1 : null;
    for (const row of shown) {
      if (row.type === "entry") {
        if (row.within.some((above) => closed.has(above))) continue;
        // What belongs to another entry may tell of another turn where it stands.
        if (row.depth === 0) {
          if (turn !== null && row.turn > turn) {
            const key = `turn:${execution.id}:${row.turn}`;
            rows.push({ type: "turn", key, turn: row.turn });
          }
          turn = Math.max(turn ?? 0, row.turn);
        }
      }
      rows.push({ type: "log", key: row.key, row, execution });
    }
  }
  return rows;
}
