import { useMemo } from "react";
import { useOp } from "#ui/api/client.ts";

/** Names of the agents by id. */
export function useAgentNames(): ReadonlyMap<string, string> {
  const agents = useOp("agent_list", {}).data?.items;
  return useMemo(() => new Map(agents?.map(({ id, name }) => [id, name])), [agents]);
}
