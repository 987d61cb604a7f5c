/** Keeps what is in sight where it is while rows above it come and go. Pure. */

export interface PlacedRow {
  readonly key: string;
  readonly start: number;
  readonly end: number;
}

/** A row, and how far below its start the upper edge is; above it when that is negative. */
export interface Held {
  readonly key: string;
  readonly below: number;
}

/**
 * What to hold on to: the first row in sight that is still there, or when none is the nearest one
 * above. Null when nothing is left.
 */
export function heldAt(
  before: readonly PlacedRow[],
  offset: number,
  startOf: (key: string) => number | undefined,
): Held | null {
  const first = before.findIndex(({ end }) => end > offset);
  const split = first < 0 ? before.length : first;
  const inOrder = [...before.slice(split), ...before.slice(0, split).toReversed()];
  const row = inOrder.find(({ key }) => startOf(key) !== undefined);
  return row ? { key: row.key, below: offset - row.start } : null;
}
