import { useState } from "react";
import { useTranslation } from "react-i18next";
import { findingAt } from "#ui/api/findings.ts";
import { RunsOnField } from "#ui/domain/machines/RunsOnField.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import { Frame, useSettings } from "./Setting.tsx";
import { linesAt, patchAt } from "./settingsPath.ts";
import styles from "./settings.module.css";

const path = "machines";

/** Where the project's tasks run; nothing is saved before the button says so. */
export function RunsOnSetting() {
  const { view } = useSettings();
  const saved = linesAt(view.settings, path);
  // Labels from elsewhere start the field anew.
  return <RunsOnForm key={saved.join("\n")} saved={saved} />;
}

function RunsOnForm({ saved }: { saved: readonly string[] }) {
  const { t } = useTranslation();
  const { error, busy, patch } = useSettings();
  const [labels, setLabels] = useState(saved);
  return (
    <Frame path={path} label={t("runsOn.label")}>
      <Stack
        as="form"
        gap={3}
        onSubmit={(event) => {
          event.preventDefault();
          patch(patchAt(path, labels));
        }}
      >
        <RunsOnField
          value={labels}
          error={findingAt(error, path)}
          onChange={(next) => setLabels(next ?? [])}
        />
        <p className={layout.note}>{t("runsOn.projectHint")}</p>
        {labels.join("\n") !== saved.join("\n") && (
          <div className={styles.buttons}>
            <Button type="submit" size="sm" variant="primary" busy={busy}>
              {t("projectSettings.save")}
            </Button>
          </div>
        )}
      </Stack>
    </Frame>
  );
}
