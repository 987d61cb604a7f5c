/**
 * The saves of a project's settings, above the pages: a save that was begun on one page may be answered on another, and
 * what it was refused for is said on all of them.
 */
import { createContext, use, type ReactNode } from "react";
import { useOpMutation } from "#ui/api/client.ts";
import { useLeaveNotice } from "#ui/draft/useLeaveNotice.ts";
import type { PageId } from "./settingsPages.ts";
import { settingsDraftKey } from "./useSettingsDraft.ts";

export interface Saving {
  readonly settings: ReturnType<typeof useOpMutation<"project_settings_update">>;
  readonly project: ReturnType<typeof useOpMutation<"project_update">>;
}

const Context = createContext<Saving | null>(null);

export function useSettingsSaving(): Saving {
  const saving = use(Context);
  if (!saving) throw new Error("failed to find the saves: no SettingsSaving above");
  return saving;
}

export interface SettingsSavingProps {
  readonly projectId: string;
  /** The page that is shown. */
  readonly page: PageId;
  readonly children: ReactNode;
}

export function SettingsSaving({ projectId, page, children }: SettingsSavingProps) {
  const settings = useOpMutation("project_settings_update");
  const project = useOpMutation("project_update");
  useLeaveNotice(settingsDraftKey(projectId), "projectSettings.kept", page);
  return <Context value={{ settings, project }}>{children}</Context>;
}
