/** Lists scroll by themselves while something is held near their edge. */
import type { Point } from "./pointerDrag.ts";

/** What may scroll at the moment: the one sideways, the other up and down. */
export interface Scrollers {
  readonly sideways: HTMLElement | null;
  readonly upDown: HTMLElement | null;
}

/** How much of a list's extent counts as its edge, and at most how many pixels. */
const edge = { share: 0.12, most: 72 };
/** In pixels per second, at the very edge and beyond. */
const fastest = 900;
/** A frame that came late is not made up for by a jump. */
const longestFrame = 50;

/**
 * From -1 to 1: how fast to scroll. Only an edge that was moved towards counts, else a card taken
 * up near one would slip away under the pointer.
 */
export function edgePull(at: number, pressed: number, start: number, end: number): number {
  const zone = Math.min((end - start) * edge.share, edge.most);
  if (zone <= 0) return 0;
  if (at < pressed && at < start + zone) return -Math.min(1, (start + zone - at) / zone);
  if (at > pressed && at > end - zone) return Math.min(1, (at - end + zone) / zone);
  return 0;
}

/** Whole pixels, since a part of one may come to nothing. */
const pixels = (way: number) => Math.sign(way) * Math.ceil(Math.abs(way));

/** Scrolls until the returned function is called. */
export function scrollAtEdges(
  pressed: Point,
  pointer: () => Point,
  scrollers: () => Scrollers,
): () => void {
  let last = performance.now();
  const step = (now: number) => {
    const way = (fastest * Math.min(now - last, longestFrame)) / 1000;
    last = now;
    const at = pointer();
    const { sideways, upDown } = scrollers();
    if (sideways) {
      const { left, right } = sideways.getBoundingClientRect();
      const pull = edgePull(at.x, pressed.x, left, right);
      if (pull !== 0) sideways.scrollBy({ left: pixels(pull * way), behavior: "instant" });
    }
    if (upDown) {
      const { top, bottom } = upDown.getBoundingClientRect();
      const pull = edgePull(at.y, pressed.y, top, bottom);
      if (pull !== 0) upDown.scrollBy({ top: pixels(pull * way), behavior: "instant" });
    }
    frame = requestAnimationFrame(step);
  };
  let frame = requestAnimationFrame(step);
  return () => cancelAnimationFrame(frame);
}
