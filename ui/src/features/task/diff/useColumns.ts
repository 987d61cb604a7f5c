/** How many letters fit into one of two columns; null until that is laid out. */
import { useLayoutEffect, useState, type RefObject } from "react";
import { useRows } from "#ui/components/rows.ts";

/** What stands beside the text of a column, by the size of the text: its number and its sign. */
const besideText = 68;
const edge = 1;
const scrollbar = 12;

export function useColumns(
  frame: RefObject<HTMLElement | null>,
  /** A hundred letters in the font of the rows. */
  probe: RefObject<HTMLElement | null>,
): number | null {
  const { scale } = useRows();
  const [columns, setColumns] = useState<number | null>(null);
  useLayoutEffect(() => {
    const box = frame.current;
    const letters = probe.current;
    if (!box || !letters) return undefined;
    const look = () => {
      const letter = letters.getBoundingClientRect().width / 100;
      const half = (box.getBoundingClientRect().width - scrollbar) / 2;
      const fitting = Math.floor((half - edge - besideText * scale) / letter);
      setColumns(letter > 0 && fitting > 0 ? fitting : null);
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(box);
    // The font may come after the first paint, and is of another width.
    observer.observe(letters);
    return () => observer.disconnect();
  }, [frame, probe, scale]);
  return columns;
}
