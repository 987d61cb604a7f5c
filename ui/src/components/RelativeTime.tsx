import { useSyncExternalStore } from "react";
import { relativeTime } from "./time.ts";

/** One timer for all: the texts change a minute at a time. */
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = Date.now();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 20_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Between ticks all texts count from one moment; while none is shown, no tick moves it. */
function moment(): number {
  if (timer === undefined) now = Date.now();
  return now;
}

export interface RelativeTimeProps {
  /** RFC 3339, or milliseconds since 1970. */
  readonly at: string | number;
}

export function RelativeTime({ at }: RelativeTimeProps) {
  // The snapshot is the text itself: a tick that changes nothing renders nothing.
  const instant = new Date(at);
  const text = useSyncExternalStore(subscribe, () =>
    relativeTime(instant.getTime(), moment(), navigator.language),
  );
  const full = instant.toLocaleString(navigator.language, {
    dateStyle: "medium",
    timeStyle: "medium",
  });
  return (
    <time dateTime={instant.toISOString()} title={full}>
      {text}
    </time>
  );
}
