/**
 * What the changes of a task were when the person looked last, remembered on this machine, so that
 * the next look tells which files are other ones since.
 */
import { useEffect, useRef, useState } from "react";
import { persist } from "zustand/middleware";
import { createStore } from "zustand/vanilla";
import type { FileChange } from "#ui/api/generated.ts";
import { fingerprint, isSameContent } from "./viewed.ts";

export interface Look {
  readonly at: string;
  readonly files: Readonly<Record<string, string>>;
}

interface Looks {
  /** By task, the one looked at last at the end. */
  readonly tasks: Readonly<Record<string, Look>>;
}

/** Looks at older tasks are forgotten. */
const rememberedTasks = 60;

export const lookStore = createStore<Looks>()(
  persist((): Looks => ({ tasks: {} }), { name: "forge.looks", version: 1 }),
);

export const lookOf = (files: readonly FileChange[], at: string): Look => ({
  at,
  files: Object.fromEntries(files.map((change) => [change.path, fingerprint(change)])),
});

/** The files that are other ones since, or were not there; none at the first look. */
export function changedSince(look: Look | null, files: readonly FileChange[]): ReadonlySet<string> {
  if (look === null) return new Set();
  const changed = files.filter((change) => !isSameContent(look.files[change.path], change));
  return new Set(changed.map(({ path }) => path));
}

function remember(task: string, look: Look): void {
  lookStore.setState(({ tasks }) => {
    const { [task]: _, ...others } = tasks;
    const kept = Object.entries(others).slice(-rememberedTasks);
    return { tasks: { ...Object.fromEntries(kept), [task]: look } };
  });
}

/** The look before this one; this one counts from when it ends. Null without files looks at nothing. */
export function useLastLook(task: string, files: readonly FileChange[] | null): Look | null {
  const [before] = useState(() => lookStore.getState().tasks[task] ?? null);
  const latest = useRef(files);
  useEffect(() => {
    latest.current = files;
  });
  useEffect(() => {
    const end = () => {
      const seen = latest.current;
      if (seen) remember(task, lookOf(seen, new Date().toISOString()));
    };
    addEventListener("pagehide", end);
    return () => {
      removeEventListener("pagehide", end);
      end();
    };
  }, [task]);
  return before;
}
