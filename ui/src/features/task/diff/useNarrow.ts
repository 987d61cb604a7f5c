import { useLayoutEffect, useState } from "react";

/** Whether an element is narrower than this; false until it has been laid out. */
export function useNarrow(element: HTMLElement | null, width: number): boolean {
  const [narrow, setNarrow] = useState(false);
  useLayoutEffect(() => {
    if (!element) return undefined;
    const look = (measured: number) => setNarrow(measured > 0 && measured < width);
    // Before the first paint, so that nothing flashes.
    look(element.getBoundingClientRect().width);
    const observer = new ResizeObserver(([entry]) => {
      if (entry) look(entry.contentRect.width);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [element, width]);
  return narrow;
}
