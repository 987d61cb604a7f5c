/**
 * The log of one execution as rows to draw. Pure.
 *
 * Invariants: kept entries are ascending by `seq` without doubles; a later entry with the same
 * `(turn, id)` stands in the place of the earlier one; text marked `partial` joins what follows
 * without a line break. Output is gathered into blocks whose edges depend on `seq` alone, so that
 * reading earlier or later pages moves no edge but the outermost.
 */
import type { EntryKind, EntryStatus, LogEntry } from "#ui/api/generated.ts";
import { arrange } from "./arrange.ts";

export type Body = Readonly<Record<string, unknown>>;

/** Something with a place of its own in the conversation. */
export interface EntryRow {
  readonly type: "entry";
  readonly key: string;
  readonly seq: number;
  readonly at: number;
  readonly turn: number;
  readonly kind: EntryKind;
  readonly status: EntryStatus | null;
  readonly body: Body;
  /** Its name within the execution; empty when it has none. */
  readonly id: string;
  /** The entry it belongs to: a sub-agent's work, a tool's parts. */
  readonly parent: string | null;
  /** How deep it stands below others. */
  readonly depth: number;
  /** How many entries belong to it. */
  readonly parts: number;
  /** The keys of the rows it stands below, outermost first. */
  readonly within: readonly string[];
}

/** Neighbouring lines of one stream. */
export interface OutputRow {
  readonly type: "output";
  readonly key: string;
  readonly seq: number;
  readonly stream: "stdout" | "stderr";
  readonly text: string;
}

export type LogRow = EntryRow | OutputRow;

/** A block of output ends at a multiple of this. */
const blockLength = 40;

const seqOf = (entry: LogEntry): number => entry.seq ?? 0;

export function bodyOf(entry: LogEntry): Body {
  return typeof entry.body === "object" && entry.body !== null ? (entry.body as Body) : {};
}

export function textIn(body: Body): string {
  for (const key of ["text", "text_head"]) {
    const value = body[key];
    if (typeof value === "string") return value;
  }
  return "";
}

/** Adds a page to what is known, in whatever order pages arrive. */
export function mergeEntries(
  known: readonly LogEntry[],
  page: readonly LogEntry[],
): readonly LogEntry[] {
  if (page.length === 0) return known;
  if (known.length === 0) return page;
  const [first, last] = [seqOf(known[0] as LogEntry), seqOf(known.at(-1) as LogEntry)];
  const before = page.filter((entry) => seqOf(entry) < first);
  const after = page.filter((entry) => seqOf(entry) > last);
  if (before.length === 0 && after.length === 0) return known;
  return [...before, ...known, ...after];
}

const streams: ReadonlySet<EntryKind> = new Set(["stdout", "stderr"]);

/** An entry's row stays the same object while its entry does, so that a new entry draws no old one again. */
const rowOfEntry = new WeakMap<LogEntry, EntryRow>();

function asRow(entry: LogEntry): EntryRow {
  const known = rowOfEntry.get(entry);
  if (known) return known;
  const row = makeRow(entry);
  rowOfEntry.set(entry, row);
  return row;
}

function makeRow(entry: LogEntry): EntryRow {
  const id = entry.id === "" ? `#${entry.seq}` : entry.id;
  return {
    type: "entry",
    key: `${entry.execution_id}:${entry.turn}:${id}`,
    seq: seqOf(entry),
    at: entry.at ?? 0,
    turn: entry.turn,
    kind: entry.kind,
    status: entry.status,
    body: bodyOf(entry),
    id: entry.id,
    parent: entry.parent_id,
    depth: 0,
    parts: 0,
    within: [],
  };
}

/** What the later entry makes of the earlier one: pieces of a text join, all else is replaced. */
function supersede(earlier: EntryRow, later: EntryRow): EntryRow {
  const known = superseded.get(later);
  if (known?.earlier === earlier) return known.row;
  const row = joined(earlier, later);
  superseded.set(later, { earlier, row });
  return row;
}

const superseded = new WeakMap<EntryRow, { readonly earlier: EntryRow; readonly row: EntryRow }>();

function joined(earlier: EntryRow, later: EntryRow): EntryRow {
  const body =
    earlier.body["partial"] === true
      ? { ...later.body, text: textIn(earlier.body) + textIn(later.body) }
      : later.body;
  return { ...later, key: earlier.key, seq: earlier.seq, at: earlier.at, body };
}

interface Block {
  readonly first: LogEntry;
  readonly texts: string[];
  partial: boolean;
}

const outputFrom = new WeakMap<LogEntry, OutputRow>();

function asOutput({ first, texts }: Block): OutputRow {
  const text = texts.join("");
  const known = outputFrom.get(first);
  if (known?.text === text) return known;
  const row: OutputRow = {
    type: "output",
    key: `${first.execution_id}:out:${first.seq}`,
    seq: seqOf(first),
    stream: first.kind === "stderr" ? "stderr" : "stdout",
    text,
  };
  outputFrom.set(first, row);
  return row;
}

const blockOf = (entry: LogEntry): number => Math.floor(seqOf(entry) / blockLength);

/** The rows of a run of entries. */
export function foldEntries(entries: readonly LogEntry[]): readonly LogRow[] {
  const rows: LogRow[] = [];
  const places = new Map<string, number>();
  let block: Block | null = null;
  let last: LogEntry | null = null;
  const close = () => {
    if (block) rows.push(asOutput(block));
    block = null;
  };
  for (const entry of entries) {
    if (streams.has(entry.kind)) {
      const fits =
        block?.first.kind === entry.kind &&
        (block.partial || (last !== null && blockOf(last) === blockOf(entry)));
      if (!fits) close();
      block ??= { first: entry, texts: [], partial: true };
      block.texts.push(block.partial ? textIn(bodyOf(entry)) : `\n${textIn(bodyOf(entry))}`);
      block.partial = bodyOf(entry)["partial"] === true;
    } else {
      const row = asRow(entry);
      const place = places.get(row.key);
      const known = place === undefined ? undefined : rows[place];
      if (place !== undefined && known?.type === "entry") {
        rows[place] = supersede(known, row);
        last = entry;
        continue;
      }
      close();
      places.set(row.key, rows.length);
      rows.push(row);
    }
    last = entry;
  }
  close();
  return arrange(rows);
}

/** Kinds that say nothing a person reads: the section's head already tells them. */
const silent: ReadonlySet<EntryKind> = new Set(["session_started"]);

export function isShown(row: LogRow): boolean {
  if (row.type === "output") return row.text !== "";
  if (silent.has(row.kind)) return false;
  if (row.kind === "turn_ended") return typeof row.body["summary"] === "string";
  return true;
}

/** A log of plain output as one text; what is not output is named by its own text. */
export function plainText(rows: readonly LogRow[]): string {
  return rows
    .map((row) => (row.type === "output" ? row.text : textIn(row.body)))
    .filter((text) => text !== "")
    .join("\n");
}
