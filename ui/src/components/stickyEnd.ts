/**
 * Holds a scrolling box at its end through whatever its content turns out to measure, until the
 * person goes up; coming back to the end holds it again. Knows nothing of React.
 */

/** Pixels from the end that still count as being there. */
const threshold = 40;
const upward = new Set(["ArrowUp", "PageUp", "Home"]);

export interface StickyEnd {
  /** The content may have grown: goes to the end when held there. */
  keep(): void;
  /** Goes to the end and stays. */
  stick(): void;
  drop(): void;
}

export function stickToEnd(box: HTMLElement, onChange: (atEnd: boolean) => void): StickyEnd {
  let stuck = true;
  let pressed = false;
  const set = (next: boolean) => {
    if (stuck === next) return;
    stuck = next;
    onChange(next);
  };
  const release = () => {
    if (box.scrollHeight > box.clientHeight) set(false);
  };
  const toEnd = () => {
    box.scrollTop = box.scrollHeight;
  };
  const listeners: Record<string, (event: Event) => void> = {
    wheel: (event) => {
      if ((event as WheelEvent).deltaY < 0) release();
    },
    keydown: (event) => {
      if (upward.has((event as KeyboardEvent).key)) release();
    },
    // The scrollbar, or a finger: only then does a scroll away from the end count as meant.
    pointerdown: () => {
      pressed = true;
    },
    pointerup: () => {
      pressed = false;
    },
    pointercancel: () => {
      pressed = false;
    },
    scroll: () => {
      const left = box.scrollHeight - box.scrollTop - box.clientHeight;
      if (left <= threshold) set(true);
      else if (pressed) set(false);
    },
  };
  for (const [name, listener] of Object.entries(listeners)) {
    box.addEventListener(name, listener, { passive: true });
  }
  return {
    keep: () => {
      if (stuck) toEnd();
    },
    stick: () => {
      set(true);
      toEnd();
    },
    drop: () => {
      for (const [name, listener] of Object.entries(listeners)) {
        box.removeEventListener(name, listener);
      }
    },
  };
}
