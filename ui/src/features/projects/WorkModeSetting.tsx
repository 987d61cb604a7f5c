/** How finished work gets into the target branch: merged here, or by a pull request. */
import { useTranslation } from "react-i18next";
import { findingAt } from "#ui/api/findings.ts";
import type { WorkMode } from "#ui/api/generated.ts";
import { Select } from "#ui/components/Select.tsx";
import layout from "#ui/components/layout.module.css";
import { useSettings } from "./settingsContext.ts";
import styles from "./settings.module.css";

const modes: readonly WorkMode[] = ["direct_commit", "pull_request"];

export function WorkModeSetting() {
  const { t } = useTranslation();
  const { facts, busy, patch } = useSettings();
  const { values, error } = facts;
  return (
    <div className={styles.card}>
      <div className={styles.setting}>
        <div className={layout.fillNarrow}>
          <Select<WorkMode>
            label={t("codeHost.mode")}
            hint={t("codeHost.modeHint")}
            value={values.work_mode}
            disabled={busy}
            error={findingAt(error, "work_mode")}
            options={modes.map((value) => ({
              value,
              label: t(`codeHost.modes.${value}`),
              note: t(`codeHost.modeNotes.${value}`),
            }))}
            onChange={(mode) => patch({ project: { work_mode: mode } })}
          />
        </div>
      </div>
    </div>
  );
}
