/**
 * Turns change batches into re-reads.
 *
 * Every query carries the cache tags of its answer (`meta.tags`); a batch names the tags that
 * changed. Tags are gathered until the next frame so that a burst costs one invalidation and one
 * render. When a batch does not follow the last one seen, something was missed and every query
 * is read again. Deliberately absent: patching cached answers by hand.
 */
import type { Query, QueryClient } from "@tanstack/react-query";
import type { ChangeBatch, Unsubscribe } from "#ui/platform/types.ts";

type Schedule = (run: () => void) => void;

/** The next frame; a hidden window paints none, so there a short timer stands in. */
const nextFrame: Schedule = (run) => {
  if (document.visibilityState === "hidden") setTimeout(run, 100);
  else requestAnimationFrame(run);
};

export function tagsOf(query: Query): readonly string[] {
  const tags = query.meta?.["tags"];
  return Array.isArray(tags) ? (tags as string[]) : [];
}

export function followChanges(
  client: QueryClient,
  onChanges: (listener: (batch: ChangeBatch) => void) => Unsubscribe,
  schedule: Schedule = nextFrame,
): Unsubscribe {
  let last: number | null = null;
  let missed = false;
  let scheduled = false;
  let stopped = false;
  const pending = new Set<string>();

  const flush = () => {
    scheduled = false;
    if (stopped) return;
    if (missed) {
      void client.invalidateQueries();
    } else {
      const tags = new Set(pending);
      void client.invalidateQueries({
        predicate: (query) => tagsOf(query).some((tag) => tags.has(tag)),
      });
    }
    missed = false;
    pending.clear();
  };

  const drop = onChanges((batch) => {
    if (last !== null && batch.after !== last) missed = true;
    last = batch.seq;
    for (const change of batch.changes) for (const tag of change.tags) pending.add(tag);
    if ((missed || pending.size > 0) && !scheduled) {
      scheduled = true;
      schedule(flush);
    }
  });

  return () => {
    stopped = true;
    drop();
  };
}
