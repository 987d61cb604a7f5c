import { useMemo } from "react";
import { useOp } from "#ui/api/client.ts";
import type { AgentNames } from "./BoardCard.tsx";

export function useNames(): AgentNames {
  const agents = useOp("agent_list", {}).data?.items;
  return useMemo(() => new Map(agents?.map(({ id, name }) => [id, name])), [agents]);
}
