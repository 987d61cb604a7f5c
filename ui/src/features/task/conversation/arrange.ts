/**
 * Puts the rows of one execution where a reader looks for them. Pure; what it makes of a longer
 * stretch agrees with what it made of a shorter one but for rows whose own facts have grown.
 *
 * - an answer becomes part of its question;
 * - what a turn used is summed up in one row, where it was last counted;
 * - a summary that only repeats the last words is left out;
 * - what belongs to another entry stands behind it, indented.
 */
import type { Body, EntryRow, LogRow } from "./log.ts";

const classes = ["input_uncached", "cache_read", "cache_write", "output", "reasoning"] as const;

const numberOf = (body: Body, key: string): number | null => {
  const value = body[key];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
};

function withAnswers(rows: readonly LogRow[]): readonly LogRow[] {
  const answers = new Map<string, EntryRow>();
  const asked = new Set<string>();
  for (const row of rows) {
    if (row.type !== "entry") continue;
    if (row.kind === "approval_request") asked.add(row.id);
    if (row.kind === "approval_resolved" && row.parent !== null) answers.set(row.parent, row);
  }
  if (answers.size === 0) return rows;
  return rows.flatMap((row): LogRow[] => {
    if (row.type !== "entry") return [row];
    if (row.kind === "approval_resolved" && row.parent !== null && asked.has(row.parent)) return [];
    const answer = row.kind === "approval_request" ? answers.get(row.id) : undefined;
    if (!answer) return [row];
    const body = { ...row.body, answer: answer.body["answer"] ?? null, answered_at: answer.at };
    return [{ ...row, status: answer.status, body }];
  });
}

/** Costs add up as far as they are known. */
function sum(one: Body, other: Body): Body {
  const added: Record<string, unknown> = {};
  for (const key of classes) {
    added[key] = (numberOf(one, key) ?? 0) + (numberOf(other, key) ?? 0);
  }
  const costs = [one, other].map((body) => numberOf(body, "cost_micro_usd"));
  added["cost_micro_usd"] = costs.every((cost) => cost === null)
    ? null
    : costs.reduce<number>((all, cost) => all + (cost ?? 0), 0);
  const models = new Set(
    [one, other].flatMap((body) => String(body["model"] ?? "").split(", ")).filter(Boolean),
  );
  added["model"] = [...models].join(", ");
  return added;
}

function withUsageByTurn(rows: readonly LogRow[]): readonly LogRow[] {
  const used = new Map<number, EntryRow>();
  for (const row of rows) {
    if (row.type !== "entry" || row.kind !== "usage") continue;
    const before = used.get(row.turn);
    used.set(row.turn, before ? { ...row, body: sum(before.body, row.body) } : row);
  }
  if (used.size === 0) return rows;
  return rows.flatMap((row): LogRow[] => {
    if (row.type !== "entry" || row.kind !== "usage") return [row];
    const whole = used.get(row.turn);
    if (whole?.seq !== row.seq) return [];
    return [{ ...whole, key: `${whole.key.split(":")[0]}:${whole.turn}:usage` }];
  });
}

/** A summary that is the agent's last words once more is not said twice. */
function withoutEchoes(rows: readonly LogRow[]): readonly LogRow[] {
  let last = "";
  return rows.filter((row) => {
    if (row.type !== "entry") return true;
    if (row.kind === "assistant_text" && row.parent === null)
      last = String(row.body["text"] ?? "").trim();
    return row.kind !== "turn_ended" || last === "" || String(row.body["summary"]).trim() !== last;
  });
}

const placings = new WeakMap<EntryRow, EntryRow>();

/** The same object as long as it stands where it stood. */
function placedAt(
  row: EntryRow,
  depth: number,
  parts: number,
  within: readonly string[],
): EntryRow {
  const stands = (each: EntryRow) =>
    each.depth === depth &&
    each.parts === parts &&
    each.within.length === within.length &&
    each.within.every((key, at) => key === within[at]);
  if (stands(row)) return row;
  const known = placings.get(row);
  if (known && stands(known)) return known;
  const placed = { ...row, depth, parts, within };
  placings.set(row, placed);
  return placed;
}

function nested(rows: readonly LogRow[]): readonly LogRow[] {
  const known = new Map<string, EntryRow>();
  for (const row of rows) if (row.type === "entry" && row.id !== "") known.set(row.id, row);
  const kids = new Map<string, EntryRow[]>();
  const top: LogRow[] = [];
  for (const row of rows) {
    const parent = row.type === "entry" && row.parent !== null ? known.get(row.parent) : undefined;
    if (row.type !== "entry" || !parent || parent === row || isWithin(parent, row, known)) {
      top.push(row);
      continue;
    }
    const siblings = kids.get(parent.id);
    if (siblings) siblings.push(row);
    else kids.set(parent.id, [row]);
  }
  if (kids.size === 0) return top;
  const placed: LogRow[] = [];
  const place = (row: LogRow, depth: number, within: readonly string[]): void => {
    const own = row.type === "entry" && row.id !== "" ? (kids.get(row.id) ?? []) : [];
    placed.push(row.type === "entry" ? placedAt(row, depth, own.length, within) : row);
    for (const kid of own) place(kid, depth + 1, [...within, row.key]);
  };
  for (const row of top) place(row, 0, []);
  return placed;
}

/** Whether `row` stands above `parent` already: a circle would never be drawn. */
function isWithin(parent: EntryRow, row: EntryRow, known: ReadonlyMap<string, EntryRow>): boolean {
  const seen = new Set<string>();
  for (let up: EntryRow | undefined = parent; up; up = known.get(up.parent ?? "")) {
    if (up.id === row.id || seen.has(up.id)) return true;
    seen.add(up.id);
  }
  return false;
}

export function arrange(rows: readonly LogRow[]): readonly LogRow[] {
  return nested(withoutEchoes(withUsageByTurn(withAnswers(rows))));
}
