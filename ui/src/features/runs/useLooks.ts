import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { opQuery } from "#ui/api/client.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import type { Look } from "./looks.ts";

const everyMs = 2_000;

/** Looks again every other second, while the page is mounted and in sight; no event tells of a process. */
export function useLooks() {
  const platform = usePlatform();
  const query = useQuery({
    ...opQuery(platform, "run_list", {}),
    refetchInterval: everyMs,
    refetchIntervalInBackground: false,
    refetchOnWindowFocus: true,
    refetchOnMount: "always",
    gcTime: 0,
  });
  const [looks, setLooks] = useState<{ before: Look | null; now: Look | null }>({
    before: null,
    now: null,
  });
  if (query.data && looks.now?.at !== query.dataUpdatedAt) {
    setLooks({ before: looks.now, now: { at: query.dataUpdatedAt, runs: query.data.items } });
  }
  return { ...looks, error: query.data ? null : query.error, refetch: query.refetch };
}
