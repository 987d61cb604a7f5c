/** The board's fixed measures in pixels, at a text size of 100 %; a card fills its row. */
import { preferences } from "#ui/store/preferences.ts";
import { rowHeight, type Rows } from "#ui/components/rows.ts";
import { rowsOf } from "#ui/store/looks.ts";

/** A comfortable page gives a card `room` more. */
export const cardSizes = { row: 100, room: 12, gap: 6, padding: 6 } as const;

export const cardHeight = (rows: Rows): number => rowHeight(rows, cardSizes.row, cardSizes.room);

/** The measures as cards are drawn now. */
export const drawnSizes = () => ({
  ...cardSizes,
  row: cardHeight(rowsOf(preferences.getState())),
});
