/** The items of all shown files, made anew only for files that changed. */
import { useMemo, useState } from "react";
import type { Comment, FileChange } from "#ui/api/generated.ts";
import { composerOf, useComposers } from "./composer.ts";
import type { Sides } from "./comments.ts";
import { fileNotes, noNotes, type FileNotes } from "./fileNotes.ts";
import {
  fileItems,
  joinItems,
  type AllItems,
  type FileItems,
  type FileParts,
  type Instead,
} from "./items.ts";
import type { FileState, FileStates } from "./loader.ts";
import type { DiffStyle } from "./view.ts";

export interface Shown {
  /** Generated or very large files that were asked for. */
  readonly asked: ReadonlySet<string>;
  /** Files that are text and drawn as a picture. */
  readonly pictures: ReadonlySet<string>;
  readonly folded: (change: FileChange) => boolean;
}

export function insteadOf(
  change: FileChange,
  state: FileState | undefined,
  { asked, pictures }: Pick<Shown, "asked" | "pictures">,
): Instead | null {
  if (change.binary || pictures.has(change.path)) return "picture";
  if (change.generated && !asked.has(change.path)) return "generated";
  const loaded = state?.loaded;
  if (state?.error && !loaded?.ready) return "failed";
  if (!loaded?.ready) return "loading";
  if (loaded.first.too_large) return "large";
  return loaded.rows.length === 0 ? "empty" : null;
}

/** Whether the file's rows are read when it comes near. */
export const isRead = (change: FileChange, shown: Shown): boolean =>
  !change.binary &&
  !shown.pictures.has(change.path) &&
  (!change.generated || shown.asked.has(change.path)) &&
  !shown.folded(change);

const sameParts = (one: FileParts, other: FileParts): boolean =>
  (Object.keys(one) as (keyof FileParts)[]).every((part) => one[part] === other[part]);

/** Keeps what was made of a file until what it is made of is something else. */
class Kept<Of, From extends object> {
  readonly #known = new Map<string, { readonly from: From; readonly of: Of }>();
  readonly #isSame: (one: From, other: From) => boolean;

  constructor(isSame: (one: From, other: From) => boolean) {
    this.#isSame = isSame;
  }

  of(path: string, from: From, make: (from: From) => Of): Of {
    const known = this.#known.get(path);
    if (known && this.#isSame(known.from, from)) return known.of;
    const of = make(from);
    this.#known.set(path, { from, of });
    return of;
  }
}

interface NotesFrom {
  readonly loaded: unknown;
  readonly change: FileChange;
  readonly comments: readonly Comment[];
  readonly composers: unknown;
  readonly sides: Sides;
}

const sameNotes = (one: NotesFrom, other: NotesFrom): boolean =>
  one.loaded === other.loaded &&
  one.change === other.change &&
  one.comments === other.comments &&
  one.composers === other.composers &&
  one.sides === other.sides;

export interface ChangeItems extends AllItems {
  readonly notes: ReadonlyMap<string, FileNotes>;
  readonly of: ReadonlyMap<string, FileItems>;
}

export function useChangeItems({
  taskId,
  files,
  states,
  comments,
  sides,
  diffStyle,
  shown,
  columns,
  isOne,
}: {
  taskId: string;
  files: readonly FileChange[];
  states: FileStates;
  comments: readonly Comment[];
  sides: Sides;
  diffStyle: DiffStyle;
  shown: Shown;
  columns: number | null;
  isOne: boolean;
}): ChangeItems {
  // A text, so that what follows from the places is made again only when they change.
  const open = useComposers(taskId)
    .map(({ key }) => key)
    .join("\n");
  const composers = useMemo(
    () => open.split("\n").flatMap((key) => composerOf(taskId, key) ?? []),
    [taskId, open],
  );
  const [keptNotes] = useState(() => new Kept<FileNotes, NotesFrom>(sameNotes));
  const [keptItems] = useState(() => new Kept<FileItems, FileParts>(sameParts));
  return useMemo(() => {
    const notes = new Map<string, FileNotes>();
    const of = new Map<string, FileItems>();
    const all = files.map((change) => {
      const { path } = change;
      const state = states.get(path);
      const instead = insteadOf(change, state, shown);
      const loaded = instead === null ? (state?.loaded ?? null) : null;
      const from = { loaded, change, comments, composers, sides };
      // Until the rows are there, nobody can say what stands under them and what above.
      const made =
        instead === "loading"
          ? noNotes
          : keptNotes.of(path, from, () =>
              fileNotes(comments, composers, change, loaded ?? {}, sides),
            );
      notes.set(path, made);
      const hasTop =
        made.top.length > 0 ||
        made.topComposers.length > 0 ||
        Boolean(loaded && (loaded.first.lossy || loaded.plain));
      const parts: FileParts = {
        change,
        folded: shown.folded(change),
        instead,
        loaded,
        anchors: made.anchors,
        hasTop,
        diffStyle,
        columns: diffStyle === "split" ? columns : null,
        one: isOne,
      };
      const items = keptItems.of(path, parts, fileItems);
      of.set(path, items);
      return { path, of: items };
    });
    return { ...joinItems(all), notes, of };
  }, [
    files,
    states,
    comments,
    composers,
    sides,
    diffStyle,
    shown,
    columns,
    isOne,
    keptNotes,
    keptItems,
  ]);
}
