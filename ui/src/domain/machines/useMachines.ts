/** The machines, read once for all who show them and kept current by the engine's changes. */
import type { TFunction } from "i18next";
import { useMemo } from "react";
import { useOp } from "#ui/api/client.ts";
import type { Machine } from "#ui/api/generated.ts";
import { machinesOf, momentText, type Machines } from "./machines.ts";

const none: readonly Machine[] = [];

/** Whether the machines are known: read, on their way, or not to be had. */
export type Known = "read" | "reading" | "failed";

export function useKnown(): Known {
  const { data, error } = useOp("machine_list", {});
  return data ? "read" : error ? "failed" : "reading";
}

export function useMachines(): readonly Machine[] {
  return useOp("machine_list", {}).data?.items ?? none;
}

export function useMachineMap(): Machines {
  const machines = useMachines();
  return useMemo(() => new Map(machines.map((machine) => [machine.id, machine])), [machines]);
}

export interface Inherited {
  readonly source: "agent" | "project";
  readonly labels: readonly string[];
}

/** The labels of a task that names none itself: its agent's, else its project's. */
export function useInherited(projectId: string, agentId: string | null): Inherited {
  const agents = useOp("agent_list", {}).data?.items;
  const settings = useOp("project_settings_get", { project_id: projectId }).data?.settings;
  const ofAgent = machinesOf(agents?.find(({ id }) => id === agentId));
  return ofAgent
    ? { source: "agent", labels: ofAgent }
    : { source: "project", labels: settings?.machines ?? [] };
}

/** Whether a machine can be reached, and since when, in words. */
export function contactWords(machine: Machine, t: TFunction): string {
  const { contact, contact_since: since } = machine;
  return since === null
    ? t(`machines.contact.${contact}`)
    : t(`machines.contactSince.${contact}`, { time: momentText(since, navigator.language) });
}
