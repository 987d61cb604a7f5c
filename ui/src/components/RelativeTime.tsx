import { useSyncExternalStore } from "react";
import { relativeTime } from "./time.ts";

/** One timer for all: the texts change a minute at a time. */
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = Date.now();

function tick(): void {
  now = Date.now();
  for (const each of listeners) each();
}

/** A window that nobody sees gets no timers, and a computer that sleeps has none. */
function tickInSight(): void {
  if (document.visibilityState !== "hidden") tick();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) {
    timer = setInterval(tick, 20_000);
    addEventListener("focus", tickInSight);
    document.addEventListener("visibilitychange", tickInSight);
  }
  // What comes into sight counts from now, and all others from the same moment.
  if (Math.abs(Date.now() - now) >= 1_000) tick();
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
    removeEventListener("focus", tickInSight);
    document.removeEventListener("visibilitychange", tickInSight);
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
  /** It is still to come. All else has happened: a clock that differs makes no future of it. */
  readonly isAhead?: boolean;
}

export function RelativeTime({ at, isAhead = false }: RelativeTimeProps) {
  // The snapshot is the text itself: a tick that changes nothing renders nothing.
  const instant = new Date(at);
  const text = useSyncExternalStore(subscribe, () => {
    const from = moment();
    const to = isAhead ? instant.getTime() : Math.min(instant.getTime(), from);
    return relativeTime(to, from, navigator.language);
  });
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
