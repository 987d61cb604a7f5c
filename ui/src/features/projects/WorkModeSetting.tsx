/** How finished work gets into the target branch: merged here, or by a pull request. */
import { useTranslation } from "react-i18next";
import { useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import type { Project, WorkMode } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Select } from "#ui/components/Select.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./settings.module.css";

const modes: readonly WorkMode[] = ["direct_commit", "pull_request"];

export function WorkModeSetting({ project }: { project: Project }) {
  const { t } = useTranslation();
  const update = useOpMutation("project_update");
  return (
    <div className={styles.card}>
      <div className={styles.setting}>
        <div className={layout.fillNarrow}>
          <Stack gap={3}>
            {update.error && (
              <Banner tone="danger" title={t("codeHost.modeFailed")}>
                {errorText(update.error)}
              </Banner>
            )}
            <Select<WorkMode>
              label={t("codeHost.mode")}
              hint={t("codeHost.modeHint")}
              value={project.work_mode}
              disabled={update.isPending}
              options={modes.map((value) => ({
                value,
                label: t(`codeHost.modes.${value}`),
                note: t(`codeHost.modeNotes.${value}`),
              }))}
              onChange={(mode) => update.mutate({ project_id: project.id, work_mode: mode })}
            />
          </Stack>
        </div>
      </div>
    </div>
  );
}
