import { useTranslation } from "react-i18next";
import type { EnvironmentMode, ShellMode, WorkspaceReuse } from "#ui/api/generated.ts";
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

const shellModes: readonly ShellMode[] = ["login_once", "login_each"];

function LoginShell() {
  const { t } = useTranslation();
  const { view, patch, busy } = useSettings();
  const path = "shell_mode";
  const value = view.settings.shell_mode ?? "login_once";
  const label = t("projectSettings.shellMode");
  return (
    <Frame path={path} label={label}>
      <Select<ShellMode>
        label={label}
        value={value}
        disabled={busy}
        hint={t(`projectSettings.shellModeHints.${value}`)}
        options={shellModes.map((each) => ({
          value: each,
          label: t(`projectSettings.shellModes.${each}`),
        }))}
        onChange={(next) => patch(patchAt(path, next))}
      />
    </Frame>
  );
}

const environmentModes: readonly EnvironmentMode[] = ["safe", "minimal", "inherit_all"];

function Environment() {
  const { t } = useTranslation();
  const { view, patch, busy } = useSettings();
  const path = "environment.mode";
  const value = view.settings.environment?.mode ?? "safe";
  const label = t("projectSettings.environmentMode");
  return (
    <div className={styles.card}>
      <Frame path={path} label={label}>
        <Select<EnvironmentMode>
          label={label}
          value={value}
          disabled={busy}
          hint={t(`projectSettings.environmentModeHints.${value}`)}
          options={environmentModes.map((each) => ({
            value: each,
            label: t(`projectSettings.environmentModes.${each}`),
          }))}
          onChange={(next) => patch(patchAt(path, next))}
        />
      </Frame>
      <LinesSetting
        path="environment.pass"
        label={t("projectSettings.environmentPass")}
        hint={t("projectSettings.environmentPassHint")}
        add={t("projectSettings.addVariable")}
      />
      <LinesSetting
        path="redact"
        label={t("projectSettings.redact")}
        hint={t("projectSettings.redactHint")}
        add={t("projectSettings.addPattern")}
      />
    </div>
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
        <LoginShell />
      </div>
      <h2 className={styles.heading}>{t("projectSettings.environment")}</h2>
      <Environment />
      <h2 className={styles.heading}>{t("projectSettings.worktrees")}</h2>
      <Worktrees />
    </>
  );
}
