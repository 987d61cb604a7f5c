import { createContext, use } from "react";
import type { Finding, LifecycleEvent } from "#ui/api/generated.ts";
import { saidAt } from "#ui/draft/findings.ts";
import { formatPath, setAt, type Path } from "#ui/draft/path.ts";
import type { Hooks } from "./hooks.ts";

export interface HooksAccess {
  readonly projectId: string;
  readonly hooks: Hooks;
  readonly findings: readonly Finding[];
  readonly edit: (next: unknown, group?: string) => void;
}

const Context = createContext<HooksAccess | null>(null);
export const HooksProvider = Context;

export function useHooks(): HooksAccess {
  const access = use(Context);
  if (!access) throw new Error("failed to find the hooks: no HooksProvider above");
  return access;
}

/** One field of a hook: what is wrong with it, and the way to change it. */
export function useField(event: LifecycleEvent, index: number, field: string) {
  const { hooks, findings, edit } = useHooks();
  const path: Path = [event, index, field];
  const place = formatPath(path);
  return {
    place,
    error: saidAt(findings, place),
    set: (value: unknown) => edit(setAt(hooks, path, value), place),
  };
}
