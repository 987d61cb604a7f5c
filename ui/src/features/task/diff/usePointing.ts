/**
 * A press on a line's number, or on the button beside it, opens a comment on that line; drawn over
 * further lines of the file, on all of them. With Shift the range that was pointed at grows.
 */
import { useRef, type PointerEvent } from "react";
import type { Cursor } from "./cursor.ts";
import type { Pointed } from "./view.ts";

export interface Pointing {
  readonly pointed: Pointed | null;
  readonly onPoint: (pointed: Pointed) => void;
  /** Undefined when these changes take no comments: lines are only pointed at. */
  readonly onComment: ((pointed: Pointed) => void) | undefined;
  readonly pathUnder: (element: Element | null) => string | null;
}

function rowUnder(element: Element | null): number | null {
  const row = element?.closest<HTMLElement>("[data-row]")?.dataset["row"];
  return row === undefined ? null : Number(row);
}

export function usePointing({ pointed, onPoint, onComment, pathUnder }: Pointing) {
  const end = useRef<AbortController | null>(null);
  return (event: PointerEvent<HTMLElement>) => {
    if (event.button !== 0 || !(event.target instanceof Element)) return;
    if (!event.target.closest("[data-add], [data-number]")) return;
    const row = rowUnder(event.target);
    const path = pathUnder(event.target);
    if (row === null || path === null) return;
    event.preventDefault();
    const box = event.target.closest<HTMLElement>("[data-row]");
    const number = event.target.closest<HTMLElement>("[data-number]")?.dataset["number"];
    // An unchanged line has both numbers, each of its own version.
    const side = (box?.dataset["side"] ?? number) === "old" ? "old" : null;
    const grows = event.shiftKey && pointed?.path === path;
    let last: Cursor = { row, anchor: grows ? pointed.cursor.anchor : row, side };
    onPoint({ path, cursor: last });
    end.current?.abort();
    const pressed = new AbortController();
    end.current = pressed;
    const { signal } = pressed;
    const move = (next: globalThis.PointerEvent) => {
      const under = document.elementFromPoint(next.clientX, next.clientY);
      const over = rowUnder(under);
      if (over === null || over === last.row || pathUnder(under) !== path) return;
      last = { ...last, row: over };
      onPoint({ path, cursor: last });
    };
    addEventListener("pointermove", move, { signal });
    addEventListener("pointercancel", () => pressed.abort(), { signal });
    addEventListener(
      "pointerup",
      () => {
        pressed.abort();
        onComment?.({ path, cursor: last });
      },
      { signal },
    );
  };
}
