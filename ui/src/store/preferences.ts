/**
 * What the window remembers about itself on this machine: theme and sizes. Nothing that the
 * engine knows is kept here.
 */
import { useStore } from "zustand";
import { persist } from "zustand/middleware";
import { createStore } from "zustand/vanilla";

export type Theme = "system" | "light" | "dark";

export interface Preferences {
  readonly theme: Theme;
  readonly sidebarCollapsed: boolean;
  readonly panelWidth: number;
  readonly lastProject: string | null;
  /** Whom the last task was given to. */
  readonly lastAgent: string | null;
}

const defaults: Preferences = {
  theme: "system",
  sidebarCollapsed: false,
  panelWidth: 520,
  lastProject: null,
  lastAgent: null,
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

/** Keeps [data-theme] on the root element; without one the system's choice holds. */
export function followTheme(root: HTMLElement): () => void {
  const apply = ({ theme }: Preferences) => {
    if (theme === "system") delete root.dataset["theme"];
    else root.dataset["theme"] = theme;
  };
  apply(preferences.getState());
  return preferences.subscribe(apply);
}
