/**
 * A name for the viewer's button to comment, which shows nothing but a plus. The viewer draws it
 * inside its own tree, makes it anew as it likes, and puts it at whatever line it stands for.
 */
import { useEffect, type RefObject } from "react";

const host = "diffs-container";
const inside = { childList: true, subtree: true };

export function useNamedButton(frame: RefObject<HTMLElement | null>, name: string): void {
  useEffect(() => {
    const box = frame.current;
    if (!box) return undefined;
    const watched = new WeakSet<ShadowRoot>();
    const look = (_: unknown, observer: MutationObserver) => {
      for (const { shadowRoot } of box.querySelectorAll(host)) {
        if (!shadowRoot) continue;
        if (!watched.has(shadowRoot)) observer.observe(shadowRoot, inside);
        watched.add(shadowRoot);
        const button = shadowRoot.querySelector("[data-utility-button]");
        if (button && button.ariaLabel !== name) button.ariaLabel = name;
      }
    };
    const observer = new MutationObserver(look);
    observer.observe(box, inside);
    look(null, observer);
    return () => observer.disconnect();
  }, [frame, name]);
}
