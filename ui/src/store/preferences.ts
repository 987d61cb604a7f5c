/**
 * What the window remembers about itself on this machine: looks and sizes. Nothing that the
 * engine knows is kept here.
 */
import { useStore } from "zustand";
import { persist } from "zustand/middleware";
import { createStore } from "zustand/vanilla";

export const themes = ["system", "light", "dark", "contrast"] as const;
export type Theme = (typeof themes)[number];
export const densities = ["compact", "comfortable"] as const;
export type Density = (typeof densities)[number];
/** In percent of the size that the page is drawn for. */
export const textSizes = [90, 100, 110, 125, 150, 175, 200] as const;
export type TextSize = (typeof textSizes)[number];

export interface Preferences {
  readonly theme: Theme;
  readonly density: Density;
  readonly textSize: TextSize;
  readonly sidebarCollapsed: boolean;
  readonly panelWidth: number;
  readonly lastProject: string | null;
  /** Whom the last task was given to. */
  readonly lastAgent: string | null;
  /** Of empty columns by project and name: whether they were folded or opened by hand. */
  readonly foldedColumns: Readonly<Record<string, boolean>>;
  /** Changes are read one file at a time instead of in one scroll. */
  readonly diffOneFile: boolean;
  readonly diffStyle: "unified" | "split";
  /** Terminals tell a screen reader what they show. */
  readonly terminalScreenReader: boolean;
}

const defaults: Preferences = {
  theme: "system",
  density: "compact",
  textSize: 100,
  sidebarCollapsed: false,
  panelWidth: 520,
  lastProject: null,
  lastAgent: null,
  foldedColumns: {},
  diffOneFile: false,
  diffStyle: "unified",
  terminalScreenReader: false,
};

export const preferences = createStore<Preferences>()(
  persist(() => defaults, { name: "forge.preferences", version: 1 }),
);

export function usePreference<Key extends keyof Preferences>(key: Key): Preferences[Key] {
  return useStore(preferences, (state) => state[key]);
}

export function setPreference<Key extends keyof Preferences>(
  key: Key,
  value: Preferences[Key],
): void {
  preferences.setState({ [key]: value });
}
