/** The comments of one file, and the boxes open in it, sorted to its rows. */
import { useMemo } from "react";
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
import { composerOf, useComposers, type Composer } from "./composer.ts";
import { sidedLine } from "./cursor.ts";
import type { DiffRow } from "./hunks.ts";
import type { Anchor } from "./view.ts";

export interface FileNotes extends Placed {
  readonly composersAt: ReadonlyMap<string, readonly Composer[]>;
  /** On the file as a whole, or on lines that this diff does not show. */
  readonly topComposers: readonly Composer[];
  /** The same object until the places change. */
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

function anchorsOf(keys: string, rows: readonly DiffRow[], index: RowIndex): readonly Anchor[] {
  return keys
    .split("\n")
    .flatMap((key): Anchor[] => {
      const place = keyLine(key);
      const row = index.rowOf(place.side, place.line);
      const line = row === undefined ? null : sidedLine(rows[row], place.side);
      return row === undefined || !line ? [] : [{ key, row, ...line }];
    })
    .sort((one, other) => one.row - other.row);
}

export function useFileNotes(
  taskId: string,
  comments: readonly Comment[],
  change: FileChange,
  {
    rows,
    index,
    sides,
  }: {
    rows: readonly DiffRow[];
    index: RowIndex;
    sides: Sides;
  },
): FileNotes {
  const { top, at } = useMemo(
    () =>
      placed(
        comments.filter((comment) => concerns(comment, change)),
        index,
        sides,
      ),
    [comments, change, index, sides],
  );
  // A text, so that what follows from the places is made again only when they change.
  const open = useComposers(taskId)
    .map(({ key }) => key)
    .join("\n");
  const composers = useMemo(
    () =>
      sortComposers(
        open.split("\n").flatMap((key) => composerOf(taskId, key) ?? []),
        change,
        index,
        sides,
      ),
    [taskId, open, change, index, sides],
  );
  const keys = [...new Set([...at.keys(), ...composers.at.keys()])].sort().join("\n");
  const anchors = useMemo(() => anchorsOf(keys, rows, index), [keys, rows, index]);
  return { top, at, composersAt: composers.at, topComposers: composers.top, anchors };
}
