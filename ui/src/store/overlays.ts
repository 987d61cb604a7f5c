/** Which of the shell's own overlays is open. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

export type Overlay = "palette" | "shortcuts" | null;

const overlays = createStore<{ readonly open: Overlay }>(() => ({ open: null }));

export function useOverlay(): Overlay {
  return useStore(overlays, (state) => state.open);
}

export function showOverlay(open: Overlay): void {
  overlays.setState({ open });
}
