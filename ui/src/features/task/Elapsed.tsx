import { useSyncExternalStore } from "react";
import { duration } from "#ui/components/time.ts";

/** One timer for all; it rests while nothing is shown. */
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
export function Elapsed({ since }: { since: string }) {
  const start = Date.parse(since);
  const text = useSyncExternalStore(subscribe, () => duration(Date.now() - start));
  return <span style={{ fontVariantNumeric: "tabular-nums" }}>{text}</span>;
}
