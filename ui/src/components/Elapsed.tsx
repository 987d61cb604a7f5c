import { useSyncExternalStore } from "react";
import { duration } from "./time.ts";

/** One timer for all that count seconds; it runs only while something shows them. */
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const each of listeners) each();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** How long something has been going on, by the second. */
export function Elapsed({ since }: { readonly since: string }) {
  const start = Date.parse(since);
  const text = useSyncExternalStore(subscribe, () => duration(Date.now() - start));
  return <time dateTime={since}>{text}</time>;
}

/** Whole seconds that are left, never below zero. */
export function Countdown({ until }: { readonly until: string }) {
  const end = Date.parse(until);
  const text = useSyncExternalStore(subscribe, () =>
    duration(Math.max(0, Math.ceil((end - Date.now()) / 1_000) * 1_000)),
  );
  return <time dateTime={until}>{text}</time>;
}
