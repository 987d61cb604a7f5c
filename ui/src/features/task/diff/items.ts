/**
 * The changes as one list: of each file its head, what is said of it, its rows with comments under
 * them, or why there are none. Pure.
 */
import type { FileChange, Hunk } from "#ui/api/generated.ts";
import { gapAbove, gapBelow, type Gap } from "./context.ts";
import type { DiffRow } from "./hunks.ts";
import type { LoadedFile } from "./loader.ts";
import type { Anchor, DiffStyle } from "./view.ts";

/** Why a file has no rows. */
export type Instead = "picture" | "generated" | "large" | "failed" | "loading" | "empty";

export type Item =
  | { readonly type: "head" | "top" | "end"; readonly key: string; readonly path: string }
  | {
      readonly type: "instead";
      readonly key: string;
      readonly path: string;
      readonly what: Instead;
      readonly height: number;
    }
  | {
      readonly type: "gap";
      readonly key: string;
      readonly path: string;
      readonly header: string | null;
      readonly oldNo: number;
      readonly newNo: number;
      readonly gap: Gap | null;
    }
  | { readonly type: "line"; readonly key: string; readonly path: string; readonly row: number }
  | {
      readonly type: "pair";
      readonly key: string;
      readonly path: string;
      readonly old: number | null;
      readonly new: number | null;
      readonly height: number;
      /** The height is only an estimate: not every letter is of one width. */
      readonly rough: boolean;
    }
  | { readonly type: "notes"; readonly key: string; readonly path: string; readonly at: string }
  | {
      readonly type: "more";
      readonly key: string;
      readonly path: string;
      readonly height: number;
    };

export const rowHeight = 20;
export const headHeight = 36;
export const gapHeight = 26;
const endHeight = 12;

export interface FileParts {
  readonly change: FileChange;
  readonly folded: boolean;
  readonly instead: Instead | null;
  readonly loaded: LoadedFile | null;
  readonly anchors: readonly Anchor[];
  readonly hasTop: boolean;
  readonly diffStyle: DiffStyle;
  /** Letters that fit into one of two columns; null while nobody knows. */
  readonly columns: number | null;
  /** It is shown alone. */
  readonly one: boolean;
}

/** The items of one file, and where its rows are among them. */
export interface FileItems {
  readonly items: readonly Item[];
  /** By row. */
  readonly placeOf: readonly number[];
}

/** What the rows of a file that is not read yet will take, about. */
export function estimated(change: FileChange): number {
  const context = change.kind === "added" || change.kind === "deleted" ? 0 : 6;
  return (change.added + change.removed + context) * rowHeight + gapHeight;
}

function keyOfRow(path: string, row: DiffRow | undefined): string {
  if (row?.type !== "line") return `${path}\nrow`;
  const { new_no: newNo, old_no: oldNo } = row.line;
  return newNo === null ? `${path}\no${oldNo}` : `${path}\nn${newNo}`;
}

/** Rows beside each other: a run of removed lines with the run of added ones that follows it. */
export function pairsFrom(
  rows: readonly DiffRow[],
  start: number,
): { readonly pairs: readonly (readonly [number | null, number | null])[]; readonly next: number } {
  const kindAt = (row: number) => {
    const each = rows[row];
    return each?.type === "line" ? each.line.kind : null;
  };
  if (kindAt(start) === "context") return { pairs: [[start, start]], next: start + 1 };
  let middle = start;
  while (kindAt(middle) === "removed") middle += 1;
  let end = middle;
  while (kindAt(end) === "added") end += 1;
  const pairs: (readonly [number | null, number | null])[] = [];
  for (let at = 0; at < Math.max(middle - start, end - middle); at += 1) {
    pairs.push([start + at < middle ? start + at : null, middle + at < end ? middle + at : null]);
  }
  return { pairs, next: end };
}

const isPlain = /^[\x20-\x7e]*$/;

/** How high a line's text is that breaks after so many letters. */
function wrapped(row: DiffRow | undefined, columns: number | null) {
  const text = row?.type === "line" ? row.line.text : "";
  if (columns === null || text.length * 4 <= columns) return { lines: 1, rough: false };
  // The longest tab is four letters; a letter of another script may be as wide as two.
  const rough = !isPlain.test(text);
  return { lines: Math.max(1, Math.ceil(text.length / columns)), rough };
}

class Rows {
  readonly items: Item[] = [];
  readonly placeOf: number[] = [];
  readonly #path: string;
  readonly #columns: number | null;
  readonly #notes = new Map<number, Anchor[]>();

  constructor(path: string, anchors: readonly Anchor[], columns: number | null) {
    this.#path = path;
    this.#columns = columns;
    for (const anchor of anchors) {
      const known = this.#notes.get(anchor.row);
      if (known) known.push(anchor);
      else this.#notes.set(anchor.row, [anchor]);
    }
  }

  gap(header: string | null, oldNo: number, newNo: number, gap: Gap | null): void {
    const key = `${this.#path}\ngap${header === null ? "end" : newNo}`;
    this.items.push({ type: "gap", key, path: this.#path, header, oldNo, newNo, gap });
  }

  line(row: number, each: DiffRow): void {
    this.placeOf[row] = this.items.length;
    this.items.push({ type: "line", key: keyOfRow(this.#path, each), path: this.#path, row });
    this.#notesAt(row);
  }

  pair(old: number | null, added: number | null, rows: readonly DiffRow[]): void {
    for (const row of [old, added]) if (row !== null) this.placeOf[row] = this.items.length;
    const both = [old, added].map((row) => wrapped(rows[row ?? -1], this.#columns));
    const rough = both.some((each) => each.rough);
    // What is measured is remembered by its key, which a row of one column must not find.
    const key = `${keyOfRow(this.#path, rows[added ?? old ?? 0])}${rough ? "p" : ""}`;
    const height = Math.max(...both.map(({ lines }) => lines)) * rowHeight;
    this.items.push({ type: "pair", key, path: this.#path, old, new: added, height, rough });
    if (old !== null) this.#notesAt(old);
    if (added !== null && added !== old) this.#notesAt(added);
  }

  #notesAt(row: number): void {
    for (const { key: at } of this.#notes.get(row) ?? []) {
      const key = `${this.#path}\nnotes${at}`;
      this.items.push({ type: "notes", key, path: this.#path, at });
    }
  }
}

function addRows(
  into: Rows,
  hunks: readonly Hunk[],
  rows: readonly DiffRow[],
  diffStyle: DiffStyle,
): void {
  let hunk = 0;
  for (let row = 0; row < rows.length;) {
    const each = rows[row];
    if (!each) break;
    if (each.type === "gap") {
      const gap = gapAbove(hunks, hunk);
      into.placeOf[row] = into.items.length;
      // A hunk from the first line of the file on has nothing above it to tell of.
      if (gap || each.header !== "" || hunk > 0) {
        into.gap(each.header, each.oldNo, each.newNo, gap);
      }
      hunk += 1;
      row += 1;
    } else if (diffStyle === "unified") {
      into.line(row, each);
      row += 1;
    } else {
      const { pairs, next } = pairsFrom(rows, row);
      for (const [old, added] of pairs) into.pair(old, added, rows);
      row = next;
    }
  }
}

export function fileItems(parts: FileParts): FileItems {
  const { change, folded, instead, loaded, anchors, hasTop, diffStyle, columns, one } = parts;
  const { path } = change;
  const rows = new Rows(path, anchors, columns);
  rows.items.push({ type: "head", key: `${path}\nhead`, path });
  if (folded) return rows;
  if (hasTop) rows.items.push({ type: "top", key: `${path}\ntop`, path });
  if (instead !== null) {
    const height = instead === "loading" ? estimated(change) : instead === "picture" ? 360 : 200;
    const key = `${path}\n${instead}`;
    rows.items.push({ type: "instead", key, path, what: instead, height });
  } else if (loaded) {
    addRows(rows, loaded.hunks, loaded.rows, diffStyle);
    if (!loaded.complete) {
      const height = loaded.missing * rowHeight;
      rows.items.push({ type: "more", key: `${path}\nmore`, path, height });
    }
    const below = gapBelow(change, loaded.hunks, loaded);
    if (below) rows.gap(null, 0, below.from, below);
  }
  if (!one) rows.items.push({ type: "end", key: `${path}\nend`, path });
  return rows;
}

/** The height of an item, and whether that is only an estimate. */
export function heightOf(item: Item): number {
  switch (item.type) {
    case "head":
      return headHeight;
    case "end":
      return endHeight;
    case "gap":
      return gapHeight;
    case "instead":
    case "pair":
    case "more":
      return item.height;
    case "top":
    case "notes":
      return 120;
    default:
      return rowHeight;
  }
}

export function isMeasured(item: Item): boolean {
  if (item.type === "instead") return item.what !== "loading";
  if (item.type === "pair") return item.rough;
  return item.type === "top" || item.type === "notes";
}

/** All items, and where each file begins among them. */
export interface AllItems {
  readonly items: readonly Item[];
  readonly paths: readonly string[];
  readonly starts: readonly number[];
}

export function joinItems(
  files: readonly { readonly path: string; readonly of: FileItems }[],
): AllItems {
  const items: Item[] = [];
  const starts: number[] = [];
  for (const { of } of files) {
    starts.push(items.length);
    for (const item of of.items) items.push(item);
  }
  return { items, paths: files.map(({ path }) => path), starts };
}

/** Which file an item belongs to, by its place among the files. */
export function fileAt(starts: readonly number[], item: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= item) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Files in sight, and those so many screens of rows around. */
export function nearFiles(all: AllItems, first: number, last: number): readonly string[] {
  const margin = 150;
  const from = fileAt(all.starts, Math.max(0, first - margin));
  const to = fileAt(all.starts, Math.min(all.items.length - 1, last + margin));
  const [seenFrom, seenTo] = [fileAt(all.starts, first), fileAt(all.starts, last)];
  // Files that are not read are one item each, however long.
  return all.paths.slice(
    Math.max(from, seenFrom - filesAhead),
    Math.min(to, seenTo + filesAhead) + 1,
  );
}

export const filesAhead = 3;
