import { useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import type { Acting } from "./actions.ts";
import { useBoardModel } from "./model.ts";

export function useActing(): Acting {
  const platform = usePlatform();
  const client = useQueryClient();
  const model = useBoardModel();
  return useMemo(() => ({ platform, client, model }), [platform, client, model]);
}
