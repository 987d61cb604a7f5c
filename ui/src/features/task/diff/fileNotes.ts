/** The comments of one file, and the boxes open in it, sorted to its rows. Pure. */
import type { Comment, FileChange } from "#ui/api/generated.ts";
import {
  concerns,
  keyLine,
  pathOn,
  placed,
  rowKey,
  type Placed,
  type RowIndex,
  type Sides,
} from "./comments.ts";
import type { Composer } from "./composer.ts";
import { sidedLine } from "./cursor.ts";
import type { DiffRow } from "./hunks.ts";
import type { Anchor } from "./view.ts";

export interface FileNotes extends Placed {
  readonly composersAt: ReadonlyMap<string, readonly Composer[]>;
  /** On the file as a whole, or on lines that this diff does not show. */
  readonly topComposers: readonly Composer[];
  readonly anchors: readonly Anchor[];
}

function sortComposers(
  composers: readonly Composer[],
  change: FileChange,
  index: RowIndex,
  sides: Sides,
) {
  const at = new Map<string, Composer[]>();
  const top: Composer[] = [];
  for (const composer of composers) {
    if (composer.path !== pathOn(change, composer.side)) continue;
    const line = composer.lastLine ?? composer.line;
    const shown = line !== null && index.rowOf(composer.side, line) !== undefined;
    const key = line === null ? "" : rowKey(composer.side, line);
    if (!shown || !sides[composer.side]) top.push(composer);
    else at.set(key, [...(at.get(key) ?? []), composer]);
  }
  return { at, top };
}

function anchorsOf(
  keys: Iterable<string>,
  rows: readonly DiffRow[],
  index: RowIndex,
): readonly Anchor[] {
  return [...keys]
    .sort()
    .flatMap((key): Anchor[] => {
      const place = keyLine(key);
      const row = index.rowOf(place.side, place.line);
      const line = row === undefined ? null : sidedLine(rows[row], place.side);
      return row === undefined || !line ? [] : [{ key, row, ...line }];
    })
    .sort((one, other) => one.row - other.row);
}

const noIndex: RowIndex = { rowOf: () => undefined };
const noRows: readonly DiffRow[] = [];

export const noNotes: FileNotes = {
  top: [],
  at: new Map(),
  composersAt: new Map(),
  topComposers: [],
  anchors: [],
};

export function fileNotes(
  comments: readonly Comment[],
  composers: readonly Composer[],
  change: FileChange,
  { rows = noRows, index = noIndex }: { rows?: readonly DiffRow[]; index?: RowIndex },
  sides: Sides,
): FileNotes {
  const own = comments.filter((comment) => concerns(comment, change));
  const boxes = sortComposers(composers, change, index, sides);
  if (own.length === 0 && boxes.at.size === 0 && boxes.top.length === 0) return noNotes;
  const { top, at } = placed(own, index, sides);
  const keys = new Set([...at.keys(), ...boxes.at.keys()]);
  return {
    top,
    at,
    composersAt: boxes.at,
    topComposers: boxes.top,
    anchors: anchorsOf(keys, rows, index),
  };
}
