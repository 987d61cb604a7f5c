import { useEffect, useRef, type PointerEvent, type RefObject } from "react";
import type { GhostHandle } from "./DragGhost.tsx";
import { scrollAtEdges } from "./edgeScroll.ts";
import { columnAt, drop, lift, pointerAt, putBack } from "./gestures.ts";
import { followPointer, isDragPress, type Point } from "./pointerDrag.ts";
import { useActing } from "./useActing.ts";

/** Cards dragged by pointer: the listener for presses on the board. */
export function useCardDrag(
  ghost: RefObject<GhostHandle | null>,
): (event: PointerEvent<HTMLElement>) => void {
  const acting = useActing();
  const stop = useRef<(() => void) | null>(null);
  useEffect(() => () => stop.current?.(), []);

  return ({ target, currentTarget: board, nativeEvent }) => {
    const card = target instanceof Element ? target.closest<HTMLElement>("[data-task]") : null;
    const id = card?.dataset["task"];
    if (!card || id === undefined || !isDragPress(nativeEvent, card)) return;
    stop.current?.();

    const { model } = acting;
    // As it is pressed: when it is lifted, it may already have been drawn elsewhere.
    const box = card.getBoundingClientRect();
    let pointer: Point = { x: nativeEvent.clientX, y: nativeEvent.clientY };
    const look = () => pointerAt(model, pointer);
    let endScrolling = () => {};
    const end = () => {
      endScrolling();
      removeEventListener("scroll", look, true);
    };
    stop.current = followPointer(nativeEvent, {
      lift(pressed) {
        if (!lift(model, id, "pointer")) return false;
        ghost.current?.begin(box, pressed);
        // Whatever scrolls under a resting pointer, by itself or by the wheel, changes the slot.
        addEventListener("scroll", look, true);
        endScrolling = scrollAtEdges(
          pressed,
          () => pointer,
          () => ({
            sideways: board,
            upDown: columnAt(model, pointer)?.list?.element ?? null,
          }),
        );
        return true;
      },
      move(to) {
        pointer = to;
        ghost.current?.moveTo(to);
        look();
      },
      drop(at) {
        end();
        pointerAt(model, at);
        drop(acting);
      },
      cancel() {
        end();
        putBack(model);
      },
    });
  };
}
