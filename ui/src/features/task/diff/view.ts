/** What a drawn diff is told and tells, whichever way it is drawn. */
import type { KeyboardEvent, ReactNode } from "react";
import type { Cursor } from "./cursor.ts";
import type { ChangeStart } from "./hunks.ts";

export interface DiffViewHandle {
  goTo(change: ChangeStart): void;
  /** Gives the rows the keyboard; a range that was worked on is one line again. */
  focus(): void;
}

export type DiffStyle = "unified" | "split";

/** Where somebody leads: to a row, or to what stands above all of them. */
export interface Arrival {
  readonly row: number | null;
}

/** The rows that have comments under them. Changes only with the places, not with the texts. */
export interface Anchor {
  readonly key: string;
  readonly row: number;
  readonly side: "additions" | "deletions";
  readonly line: number;
}

export interface Commenting {
  readonly anchors: readonly Anchor[];
  /** Comments on the file as a whole, above the rows. */
  readonly top: ReactNode;
  readonly cursor: Cursor | null;
  readonly onCursor: (cursor: Cursor | null) => void;
  /** Opens a box for these rows; undefined when these changes take no comments. */
  readonly onComment: ((cursor: Cursor) => void) | undefined;
  readonly onKeyDown: (event: KeyboardEvent) => void;
  readonly arrival: Arrival | null;
  readonly onArrived: () => void;
}
