import { useTranslation } from "react-i18next";
import type { WorkspaceReuse } from "#ui/api/generated.ts";
import { Select } from "#ui/components/Select.tsx";
import { CopyFiles } from "./CopyFiles.tsx";
import { Imports } from "./Imports.tsx";
import { Frame, LinesSetting, SwitchSetting, TextSetting, useSettings } from "./Setting.tsx";
import { patchAt } from "./settingsPath.ts";
import styles from "./settings.module.css";

const reuses: readonly WorkspaceReuse[] = ["off", "tracked", "with_ignored"];

function Reuse() {
  const { t } = useTranslation();
  const { view, patch, busy } = useSettings();
  const path = "workspace_reuse";
  const value = view.settings.workspace_reuse ?? "off";
  const label = t("projectSettings.reuse");
  return (
    <Frame path={path} label={label}>
      <Select<WorkspaceReuse>
        label={label}
        value={value}
        disabled={busy}
        hint={t(`projectSettings.reuseHints.${value}`)}
        options={reuses.map((each) => ({
          value: each,
          label: t(`projectSettings.reuses.${each}`),
          note: t(`projectSettings.reuseNotes.${each}`),
        }))}
        onChange={(next) => patch(patchAt(path, next))}
      />
    </Frame>
  );
}

function Worktrees() {
  const { t } = useTranslation();
  const { view } = useSettings();
  return (
    <div className={styles.card}>
      <Reuse />
      {(view.settings.workspace_reuse ?? "off") !== "off" && (
        <TextSetting
          path="workspace_pool_size"
          kind="number"
          label={t("projectSettings.pool")}
          hint={t("projectSettings.poolHint")}
        />
      )}
      <TextSetting
        path="workspace_disk_cap_mib"
        kind="number"
        label={t("projectSettings.diskCap")}
        hint={t("projectSettings.diskCapHint")}
        placeholder={t("projectSettings.noLimit")}
        suffix="MiB"
      />
      <SwitchSetting
        path="delete_merged_branches"
        label={t("projectSettings.deleteBranches")}
        hint={t("projectSettings.deleteBranchesHint")}
      />
    </div>
  );
}

/** What makes a new worktree ready, and what becomes of it. */
export function Setup({ projectId }: { projectId: string }) {
  const { t } = useTranslation();
  return (
    <>
      <Imports projectId={projectId} />
      <div className={styles.card}>
        <CopyFiles />
        <LinesSetting
          path="setup"
          label={t("projectSettings.setup")}
          hint={t("projectSettings.setupHint")}
          add={t("projectSettings.addSetup")}
        />
        <LinesSetting
          path="shell"
          label={t("projectSettings.shell")}
          hint={t("projectSettings.shellHint")}
          add={t("projectSettings.addShell")}
        />
      </div>
      <h2 className={styles.heading}>{t("projectSettings.worktrees")}</h2>
      <Worktrees />
    </>
  );
}
