/** Log stores on the screen: followed by their cache tags, read backwards on demand. */
import { useQueries } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import { useStore } from "zustand";
import { ApiError } from "#ui/api/error.ts";
import type { LogStore } from "./logStore.ts";
import type { Stretches } from "./conversation.ts";

export interface FollowedLogs {
  readonly stretches: Stretches;
  readonly error: ApiError | null;
  readonly retry: () => void;
}

/** Keeps the ends of `logs` up to date while mounted. */
export function useFollowedLogs(store: LogStore, logs: readonly string[]): FollowedLogs {
  const queries = useQueries({
    queries: logs.map((log) => ({
      queryKey: ["log_end", store.id, log],
      queryFn: () => store.follow(log),
      meta: { tags: [`log:${log}`] },
      gcTime: 0,
    })),
  });
  const stretches = useStore(store.state);
  const failed = queries.find(({ error }) => error !== null);
  return {
    stretches,
    error: failed ? ApiError.from(failed.error) : null,
    retry: () => {
      for (const query of queries) if (query.error) void query.refetch();
    },
  };
}

export interface EarlierLogs {
  readonly busy: boolean;
  readonly error: ApiError | null;
  readonly load: (log: string, before: number | null) => void;
}

/** One page at a time, however often the list's beginning comes into sight. */
export function useEarlierLogs(store: LogStore): EarlierLogs {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const running = useRef(false);
  const load = useCallback(
    (log: string, before: number | null) => {
      if (running.current) return;
      running.current = true;
      setBusy(true);
      setError(null);
      store
        .earlier(log, before)
        .catch((thrown: unknown) => setError(ApiError.from(thrown)))
        .finally(() => {
          running.current = false;
          setBusy(false);
        });
    },
    [store],
  );
  return { busy, error, load };
}
