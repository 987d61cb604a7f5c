/** How high rows are drawn, for lists that know the heights of theirs in pixels. The app says it; one by itself is drawn as it is. */
import { createContext, use } from "react";

/** What the height of a row depends on. */
export interface Rows {
  readonly scale: number;
  readonly roomy: boolean;
}

export const RowsContext = createContext<Rows>({ scale: 1, roomy: false });

export const useRows = (): Rows => use(RowsContext);

/**
 * The height of a row that is drawn for `pixels` and gets `room` more on a comfortable page. In whole pixels: rows of a
 * fraction lock scrolling in WebKit.
 */
export function rowHeight({ scale, roomy }: Rows, pixels: number, room = 0): number {
  return Math.round(pixels * scale) + (roomy ? room : 0);
}
