/**
 * What lies over or beside the screen and goes away by Escape, the last opened first: the panel of a task, the bar of
 * a selection. Dialogs and menus hold the keyboard themselves and close themselves.
 */
import { useEffect, useEffectEvent } from "react";
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import { isTyping } from "./keys.ts";

interface Layer {
  readonly close: () => void;
}

const layers = createStore<{ readonly open: readonly Layer[] }>(() => ({ open: [] }));

/** Something is open while its component is mounted and `isOpen` holds. */
export function useLayer(close: () => void, isOpen = true): void {
  const onClose = useEffectEvent(close);
  useEffect(() => {
    if (!isOpen) return undefined;
    const layer: Layer = { close: () => onClose() };
    layers.setState(({ open }) => ({ open: [...open, layer] }));
    return () => layers.setState(({ open }) => ({ open: open.filter((each) => each !== layer) }));
  }, [isOpen]);
}

export const useHasLayer = (): boolean => useStore(layers, ({ open }) => open.length > 0);

/** Leaves the field that is being typed in, else closes what was opened last. */
export function closeLayer(): void {
  const field = document.activeElement;
  if (isTyping(field) && field instanceof HTMLElement) field.blur();
  else layers.getState().open.at(-1)?.close();
}
