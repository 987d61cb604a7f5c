/**
 * How the page looks: theme, density and text size as attributes of the root element, which `styles/` turns into
 * tokens. No component knows of them; lists that know the heights of their rows in pixels are told by the app.
 *
 * `public/looks.js` does the same before the first paint, from what was kept; a test holds the two together.
 */
import { useMemo } from "react";
import { useStore } from "zustand";
import { preferences, type Preferences } from "./preferences.ts";

export type Looks = Pick<Preferences, "theme" | "density" | "textSize">;

const moreContrast = () => matchMedia("(prefers-contrast: more)");

/** Sets one attribute, or takes it away where the page is drawn as it is without one. */
function set(root: HTMLElement, name: string, value: string | null): void {
  if (value === null) delete root.dataset[name];
  else root.dataset[name] = value;
}

/** High contrast comes in both shades, as the desktop has it, which may ask for it as well. */
export function applyLooks(root: HTMLElement, { theme, density, textSize }: Looks): void {
  const contrast = theme === "contrast" || (theme === "system" && moreContrast().matches);
  set(root, "theme", theme === "light" || theme === "dark" ? theme : null);
  set(root, "contrast", contrast ? "more" : null);
  set(root, "density", density === "compact" ? null : density);
  set(root, "text", textSize === 100 ? null : String(textSize));
}

/** Keeps the root element as the preferences and the desktop have it. */
export function followLooks(root: HTMLElement): () => void {
  const apply = () => applyLooks(root, preferences.getState());
  apply();
  const asked = moreContrast();
  asked.addEventListener("change", apply);
  const unsubscribe = preferences.subscribe(apply);
  return () => {
    asked.removeEventListener("change", apply);
    unsubscribe();
  };
}

export function rowsOf({ density, textSize }: Pick<Looks, "density" | "textSize">) {
  return { scale: textSize / 100, roomy: density === "comfortable" };
}

/** What the heights of rows depend on, as the preferences have it. */
export function useRowLooks(): { readonly scale: number; readonly roomy: boolean } {
  const textSize = useStore(preferences, (state) => state.textSize);
  const density = useStore(preferences, (state) => state.density);
  return useMemo(() => rowsOf({ textSize, density }), [textSize, density]);
}
