/** Which of the shell's own overlays is open: one at a time. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

export type Overlay =
  | "palette"
  | "shortcuts"
  | "newTask"
  | "importIssues"
  | "addProject"
  | "connect"
  | "notifications"
  | null;

interface Overlays {
  readonly open: Overlay;
  /** What the overlay starts with, e.g. the folder dropped on the window. */
  readonly folder: string | null;
}

export const overlays = createStore<Overlays>(() => ({ open: null, folder: null }));

export function useOverlay(): Overlay {
  return useStore(overlays, (state) => state.open);
}

export function showOverlay(open: Overlay, folder: string | null = null): void {
  overlays.setState({ open, folder });
}
