/** The loader of a task's changes, and what it has read so far. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { Scope } from "#ui/api/generated.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { DiffLoader, type FileStates } from "./loader.ts";

export function useLoader(
  taskId: string,
  scope: Scope,
): { readonly loader: DiffLoader; readonly states: FileStates } {
  const client = useQueryClient();
  const platform = usePlatform();
  const loader = useMemo(
    () => new DiffLoader(client, platform, taskId, scope),
    [client, platform, taskId, scope],
  );
  useEffect(() => () => loader.keepNear([]), [loader]);
  const states = useSyncExternalStore(loader.subscribe, loader.states);
  return { loader, states };
}
