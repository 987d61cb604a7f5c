/** What the list of changes is told and tells. */
import type { Cursor } from "./cursor.ts";

export type DiffStyle = "unified" | "split";

/** A row that has comments under it. */
export interface Anchor {
  readonly key: string;
  readonly row: number;
  readonly side: "additions" | "deletions";
  readonly line: number;
}

/** The rows that a person points at, and their file. */
export interface Pointed {
  readonly path: string;
  readonly cursor: Cursor;
}

export interface ChangesHandle {
  toFile(path: string): void;
  stepChange(step: 1 | -1): void;
  /** Gives the rows the keyboard; a range that was worked on is one line again. */
  focus(): void;
  /** The line of a file to go on with elsewhere; null before its lines are read. */
  lineOf(path: string): number | null;
}
