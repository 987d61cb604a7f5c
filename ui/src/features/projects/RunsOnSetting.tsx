import { useTranslation } from "react-i18next";
import { findingAt } from "#ui/api/findings.ts";
import { RunsOnField } from "#ui/domain/machines/RunsOnField.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import { Frame } from "./Setting.tsx";
import { onEnter } from "./onEnter.ts";
import { useSettings } from "./settingsContext.ts";
import { linesAt } from "./settingsPath.ts";
import { useEdited } from "./useEdited.ts";

const path = "machines";

/** Where the project's tasks run. */
export function RunsOnSetting() {
  const { t } = useTranslation();
  const { view, error, submit } = useSettings();
  const {
    typed: labels,
    set,
    turn,
  } = useEdited<readonly string[]>({
    path,
    shown: linesAt(view.settings, path),
    said: (next) => next,
  });
  return (
    <Frame path={path} label={t("runsOn.label")}>
      {/* Enter in its text box. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <Stack role="group" aria-label={t("runsOn.heading")} gap={3} onKeyDown={onEnter(submit)}>
        <RunsOnField
          key={turn}
          value={labels}
          error={findingAt(error, path)}
          onChange={(next) => set(next ?? [])}
        />
        <p className={layout.note}>{t("runsOn.projectHint")}</p>
      </Stack>
    </Frame>
  );
}
