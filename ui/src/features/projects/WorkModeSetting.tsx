/** How finished work gets into the target branch: merged here, or by a pull request. */
import { useTranslation } from "react-i18next";
import { errorText } from "#ui/api/error.ts";
import type { WorkMode } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Select } from "#ui/components/Select.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import { useSettings } from "./settingsContext.ts";
import styles from "./settings.module.css";

const modes: readonly WorkMode[] = ["direct_commit", "pull_request"];

export function WorkModeSetting() {
  const { t } = useTranslation();
  const { values, error, isSaving, set } = useSettings().facts;
  return (
    <div className={styles.card}>
      <div className={styles.setting}>
        <div className={layout.fillNarrow}>
          <Stack gap={3}>
            {error && (
              <Banner tone="danger" title={t("codeHost.modeFailed")}>
                {errorText(error)}
              </Banner>
            )}
            <Select<WorkMode>
              label={t("codeHost.mode")}
              hint={t("codeHost.modeHint")}
              value={values.work_mode}
              disabled={isSaving}
              options={modes.map((value) => ({
                value,
                label: t(`codeHost.modes.${value}`),
                note: t(`codeHost.modeNotes.${value}`),
              }))}
              onChange={(mode) => set({ work_mode: mode })}
            />
          </Stack>
        </div>
      </div>
    </div>
  );
}
