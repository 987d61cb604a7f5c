/** The services of a task as its tab and its banner show them. Pure. */
import type { Service, ServiceState, TaskService } from "#ui/api/generated.ts";

export const stateTones = {
  starting: "accent",
  ready: "success",
  failed: "danger",
  stopped: "neutral",
} as const satisfies Record<ServiceState, string>;

export const isActive = (service: Service | null): service is Service =>
  service !== null && (service.state === "starting" || service.state === "ready");

/** Whether there is anything to show: a project may name no services. */
export const hasServices = (services: readonly TaskService[] | undefined): boolean =>
  services !== undefined && services.length > 0;

/** The one that a button without a list is for: the first that runs, else the first that the project names. */
export const mainService = (services: readonly TaskService[]): TaskService | undefined =>
  services.find(({ last }) => isActive(last)) ?? services.find(({ command }) => command !== null);
