/**
 * Turns change batches into re-reads.
 *
 * Every query carries the cache tags of its answer (`meta.tags`); a batch names the tags that
 * changed. Tags are gathered until the next frame so that a burst costs one invalidation and one
 * render. When a batch does not follow the last one seen, or says `*`, something was missed and
 * every query is read again. What an agent is doing right now (`activity:*`) changes many times a
 * second and is read once a second. Deliberately absent: patching cached answers by hand.
 */
import type { Query, QueryClient } from "@tanstack/react-query";
import type { ChangeBatch, Unsubscribe } from "#ui/platform/types.ts";

type Schedule = (run: () => void) => void;

/** The next frame; a hidden window paints none, so there a short timer stands in. */
const nextFrame: Schedule = (run) => {
  if (document.visibilityState === "hidden") setTimeout(run, 100);
  else requestAnimationFrame(run);
};

const nextSecond: Schedule = (run) => void setTimeout(run, 1_000);

const everything = "*";
const isSlow = (tag: string) => tag.startsWith("activity:");

export function tagsOf(query: Query): readonly string[] {
  const tags = query.meta?.["tags"];
  return Array.isArray(tags) ? (tags as string[]) : [];
}

/**
 * Reads again what matches. An answer that is on its way may be older than the change; cancelling
 * it at every change would starve a busy board, so it is let through and read once more after.
 */
function createReread(client: QueryClient) {
  const again = new Set<string>();
  return (matches: (query: Query) => boolean) => {
    for (const query of client.getQueryCache().findAll({ predicate: matches })) {
      const { queryHash, queryKey } = query;
      if (query.state.fetchStatus !== "fetching") {
        void client.invalidateQueries({ queryKey, exact: true });
      } else if (!again.has(queryHash)) {
        again.add(queryHash);
        const repeat = () => {
          again.delete(queryHash);
          void client.invalidateQueries({ queryKey, exact: true });
        };
        void query.promise?.then(repeat, repeat);
      }
    }
  };
}

/** Gathers tags and hands them on together, once per turn of `schedule`. */
function createGatherer(schedule: Schedule, flush: (tags: ReadonlySet<string>) => void) {
  const pending = new Set<string>();
  let scheduled = false;
  return (tag: string) => {
    pending.add(tag);
    if (scheduled) return;
    scheduled = true;
    schedule(() => {
      scheduled = false;
      const tags = new Set(pending);
      pending.clear();
      flush(tags);
    });
  };
}

export function followChanges(
  client: QueryClient,
  onChanges: (listener: (batch: ChangeBatch) => void) => Unsubscribe,
  schedule: Schedule = nextFrame,
  scheduleSlow: Schedule = nextSecond,
): Unsubscribe {
  let last: number | null = null;
  let stopped = false;
  const reread = createReread(client);
  const flush = (tags: ReadonlySet<string>) => {
    if (stopped) return;
    if (tags.has(everything)) reread(() => true);
    else reread((query) => tagsOf(query).some((tag) => tags.has(tag)));
  };
  const gather = createGatherer(schedule, flush);
  const gatherSlow = createGatherer(scheduleSlow, flush);

  const drop = onChanges((batch) => {
    if (last !== null && batch.after !== last) gather(everything);
    last = batch.seq;
    for (const change of batch.changes) {
      for (const tag of change.tags) (isSlow(tag) ? gatherSlow : gather)(tag);
    }
  });

  return () => {
    stopped = true;
    drop();
  };
}
