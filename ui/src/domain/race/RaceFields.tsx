/** A task's own race: what is left empty is as the project says, which is shown in its place. */
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { ApiError } from "#ui/api/error.ts";
import { findingAt } from "#ui/api/findings.ts";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import { NumberField } from "#ui/components/NumberField.tsx";
import { Select } from "#ui/components/Select.tsx";
import { DraftEstimate } from "./Estimate.tsx";
import { rowsOf, type RaceDraft } from "./strategies.ts";
import { StrategyFields } from "./StrategyFields.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import styles from "./Race.module.css";

export interface RaceFieldsProps {
  readonly projectId: string;
  readonly draft: RaceDraft;
  readonly onChange: (draft: RaceDraft) => void;
  readonly error: ApiError | null;
}

type Chooser = "project" | "rules" | "person";
const choosers: readonly Chooser[] = ["project", "rules", "person"];
const chooserOf = (value: boolean | null): Chooser =>
  value === null ? "project" : value ? "person" : "rules";

export function RaceFields({ projectId, draft, onChange, error }: RaceFieldsProps) {
  const { t } = useTranslation();
  const races = useOp("project_inner_loop", { project_id: projectId }).data?.config.competitive;
  return (
    <Stack gap={4}>
      <Checkbox
        label={t("race.ownStrategies")}
        hint={t("race.ownStrategiesHint")}
        checked={draft.strategies !== null}
        onChange={(own) =>
          onChange({ ...draft, strategies: own ? rowsOf(races?.strategies ?? []) : null })
        }
      />
      {draft.strategies !== null && (
        <StrategyFields
          rows={draft.strategies}
          onChange={(strategies) => onChange({ ...draft, strategies })}
          error={error}
          path="race.strategies"
        />
      )}
      <div className={styles.terms}>
        <NumberField
          label={t("race.maxParallel")}
          placeholder={String(races?.maxParallel ?? "")}
          value={draft.maxParallel}
          error={findingAt(error, "race.maxParallel")}
          onChange={(maxParallel) => onChange({ ...draft, maxParallel })}
        />
        <NumberField
          label={t("race.timeout")}
          placeholder={String(races?.timeoutSec ?? "")}
          suffix={t("race.seconds")}
          value={draft.timeoutSec}
          error={findingAt(error, "race.timeoutSec")}
          onChange={(timeoutSec) => onChange({ ...draft, timeoutSec })}
        />
        <Select<Chooser>
          label={t("race.winnerSetting")}
          value={chooserOf(draft.humanCrown)}
          options={choosers.map((value) => ({ value, label: t(`race.winnerBy.${value}`) }))}
          onChange={(value) =>
            onChange({ ...draft, humanCrown: value === "project" ? null : value === "person" })
          }
        />
      </div>
      <p className={styles.estimate} role="status">
        <DraftEstimate projectId={projectId} draft={draft} />
      </p>
    </Stack>
  );
}
