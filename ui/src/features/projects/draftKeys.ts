/** Every draft that belongs to a project. */
import { draftKey as servicesKey } from "./services/useServicesDraft.ts";
import { settingsDraftKey } from "./useSettingsDraft.ts";

/** The editors of workflow and hooks are chunks of their own, and are not loaded for their key. */
export const workflowKey = (projectId: string): string => `workflow:${projectId}`;
export const hooksKey = (projectId: string): string => `hooks:${projectId}`;

export const draftKeysOf = (projectId: string): readonly string[] => [
  workflowKey(projectId),
  hooksKey(projectId),
  servicesKey(projectId),
  settingsDraftKey(projectId),
];
