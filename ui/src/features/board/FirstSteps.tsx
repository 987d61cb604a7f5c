/** What a newcomer needs to know on an empty board: what its columns are for, and which agents can work. */
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Column, WorkflowView } from "#ui/api/generated.ts";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import layout from "#ui/components/layout.module.css";
import { KnownProgram } from "#ui/domain/programs/KnownProgram.tsx";
import { kindOfState } from "#ui/domain/stateKinds.ts";
import { statesOf } from "#ui/domain/useStates.ts";
import { meaningOf } from "./meaning.ts";
import styles from "./FirstSteps.module.css";

/** The columns of the workflow, each with a line on what it is for. */
export function ColumnsExplained({
  view,
  columns,
}: {
  view: WorkflowView;
  columns: readonly Column[];
}) {
  const { t } = useTranslation();
  const states = statesOf(view);
  return (
    <ol className={styles.columns} aria-label={t("board.columns")}>
      {columns.map((column) => {
        const state = states.get(column.drop_state);
        return (
          <li key={column.name} className={styles.column}>
            <h2 className={styles.name}>
              <StateGlyph kind={state?.cancels ? "cancelled" : kindOfState(state)} label="" />
              {column.name}
            </h2>
            <p className={layout.note}>{t(`board.meaning.${meaningOf(state)}`)}</p>
          </li>
        );
      })}
    </ol>
  );
}

/** The programs that can work as agents: those that are here first. */
export function AgentPrograms() {
  const { t } = useTranslation();
  const known = useOp("agent_known", {});
  const listed = useOp("agent_list", {});
  const agents = listed.data?.items;
  const failed = [known, listed].find(({ error, data }) => error && !data);
  const items = known.data?.items.toSorted(
    (one, other) => Number(other.check.found) - Number(one.check.found),
  );
  return (
    <section className={styles.programs} aria-label={t("board.programs")}>
      <h2>{t("board.programs")}</h2>
      <p className={layout.note}>{t("board.programsText")}</p>
      {failed?.error ? (
        <ErrorState
          title={t("agents.machineFailed")}
          error={failed.error}
          onRetry={() => void failed.refetch()}
        />
      ) : items && agents ? (
        <ul className={layout.surface}>
          {items.map((each) => (
            <KnownProgram key={each.name} known={each} agents={agents} />
          ))}
        </ul>
      ) : (
        <SkeletonText lines={4} />
      )}
    </section>
  );
}
