import { useTranslation } from "react-i18next";
import { CopyFiles } from "./CopyFiles.tsx";
import { environmentFields, sandboxFields, setupFields, worktreeFields } from "./fields.ts";
import { Fields } from "./Fields.tsx";
import { RunsOnSetting } from "./RunsOnSetting.tsx";
import { Imports } from "./Imports.tsx";
import styles from "./settings.module.css";

/** What makes a new worktree ready, and what becomes of it. */
export function Setup({ projectId }: { projectId: string }) {
  const { t } = useTranslation();
  return (
    <>
      <Imports projectId={projectId} />
      <Fields fields={setupFields} parts={{ copyFiles: <CopyFiles /> }} />
      <h2 className={styles.heading}>{t("runsOn.heading")}</h2>
      <div className={styles.card}>
        <RunsOnSetting />
      </div>
      <h2 className={styles.heading}>{t("projectSettings.sandbox")}</h2>
      <Fields fields={sandboxFields} />
      <h2 className={styles.heading}>{t("projectSettings.environment")}</h2>
      <Fields fields={environmentFields} />
      <h2 className={styles.heading}>{t("projectSettings.worktrees")}</h2>
      <Fields fields={worktreeFields} />
    </>
  );
}
