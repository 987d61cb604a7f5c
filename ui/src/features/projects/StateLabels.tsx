/** The label that an issue has in each state of its task. */
import { useId } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { findingAt } from "#ui/api/findings.ts";
import type { Workflow } from "#ui/api/generated.ts";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import layout from "#ui/components/layout.module.css";
import { kindOfState } from "#ui/domain/stateKinds.ts";
import { formatPath } from "#ui/draft/path.ts";
import { stateLabelsOf, type StateLabels as Labels } from "./issueRule.ts";
import { onEnter } from "./onEnter.ts";
import { Frame } from "./Setting.tsx";
import { useSettings } from "./settingsContext.ts";
import { useEdited } from "./useEdited.ts";
import styles from "./settings.module.css";

const place = ["issues", "reports", "labels"];
const path = formatPath(place);

function Rows({ workflow }: { workflow: Workflow }) {
  const { t } = useTranslation();
  const { view, error, submit } = useSettings();
  const { typed, set } = useEdited<Labels>({
    path,
    shown: view.settings.issues?.reports?.labels ?? {},
    said: stateLabelsOf,
  });
  const { states, cancellation_state: cancellation } = workflow;
  // A state that was removed from the workflow keeps its label until somebody clears it.
  const gone = Object.keys(typed).filter((name) => !states.some((state) => state.name === name));
  const rows = [
    ...states.map((state) => ({
      name: state.name,
      label: state.display_name,
      kind: kindOfState(state, cancellation),
    })),
    ...gone.map((name) => ({ name, label: name, kind: null })),
  ];
  const findingOf = (name: string) => findingAt(error, formatPath([...place, name]));
  const rest = rows.some(({ name }) => findingOf(name)) ? undefined : findingAt(error, path);
  return (
    <>
      <ul className={styles.stateLabels}>
        {rows.map(({ name, label, kind }) => (
          <li key={name}>
            <div>
              <span className={styles.name}>
                {kind && <StateGlyph kind={kind} label="" />}
                <bdi>{label}</bdi>
              </span>
              {!kind && <p className={layout.note}>{t("issueSettings.noState")}</p>}
            </div>
            <TextField
              label={t("issueSettings.labelOf", { state: label })}
              hideLabel
              value={typed[name] ?? ""}
              error={findingOf(name)}
              onKeyDown={onEnter(submit)}
              onChange={(text) => set({ ...typed, [name]: text })}
            />
          </li>
        ))}
      </ul>
      {rest && <span className={styles.error}>{rest}</span>}
    </>
  );
}

export function StateLabels({ projectId }: { projectId: string }) {
  const { t } = useTranslation();
  const read = useOp("project_workflow_get", { project_id: projectId });
  const id = useId();
  const label = t("issueSettings.stateLabels");
  return (
    <Frame path={path} label={label}>
      <Stack gap={2} role="group" aria-labelledby={id}>
        <span id={id} className={styles.label}>
          {label}
        </span>
        <span className={layout.note}>{t("issueSettings.stateLabelsHint")}</span>
        {read.error ? (
          <ErrorState
            title={t("issueSettings.noStates")}
            error={read.error}
            onRetry={() => void read.refetch()}
          />
        ) : read.data ? (
          <Rows workflow={read.data.workflow} />
        ) : (
          <SkeletonText lines={6} />
        )}
      </Stack>
    </Frame>
  );
}
