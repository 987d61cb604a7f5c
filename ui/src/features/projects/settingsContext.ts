/** What the fields of the settings' pages share. */
import { createContext, use } from "react";
import type { ApiError } from "#ui/api/error.ts";
import type { SettingsView, ValueSource } from "#ui/api/generated.ts";
import type { Facts } from "./useSettingsDraft.ts";

export type SettingsChange = { readonly [key: string]: unknown };

export interface SettingsAccess {
  /** The settings as they are written here. */
  readonly view: SettingsView;
  /** The settings as they are saved. */
  readonly saved: SettingsView;
  /** What the project is beside its settings, as it is written here. */
  readonly facts: { readonly values: Facts; readonly error: ApiError | null };
  /** Why they could not be saved. */
  readonly error: ApiError | null;
  readonly busy: boolean;
  /** Whether something there, or in it, is written and not saved. */
  readonly isChanged: (path: string) => boolean;
  /** Writes a change, which is saved with the others. */
  readonly patch: (change: SettingsChange) => void;
  /** Whether the value returns to the default when it is saved. */
  readonly isReset: (path: string) => boolean;
  /** Nothing is saved while a field is wrong. */
  readonly markWrong: (path: string, isWrong: boolean) => void;
  /** Saves all that is written. */
  readonly submit: () => void;
  /** Saves a change past what is written; answers what is in force then, and rejects when it is refused. */
  readonly save: (change: SettingsChange) => Promise<SettingsView>;
  /** What is in force now; none when it cannot be read. */
  readonly reread: () => Promise<SettingsView | null>;
  /** Where a value that is not the project's own comes from; without, it is the default. */
  readonly sourceOf?: (path: string) => ValueSource | undefined;
}

const Context = createContext<SettingsAccess | null>(null);
export const SettingsProvider = Context;

export function useSettings(): SettingsAccess {
  const access = use(Context);
  if (!access) throw new Error("failed to find the settings: no SettingsProvider above");
  return access;
}
