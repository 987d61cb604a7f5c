import type { TFunction } from "i18next";
import { ArrowRight } from "lucide-react";
import { useTranslation } from "react-i18next";
import { kindOfState } from "#ui/app/stateKinds.ts";
import { statesOf, type KnownState, type States } from "#ui/app/useStates.ts";
import { useOp } from "#ui/api/client.ts";
import type { Workflow } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { Table, type Column } from "#ui/components/Table.tsx";
import styles from "./settings.module.css";

function Edges({ state, states }: { state: KnownState; states: States }) {
  return (
    <span className={styles.edge}>
      {Object.entries(state.triggers ?? {}).map(([trigger, { to }]) => (
        <Badge key={trigger} look="outline" icon={<ArrowRight />}>
          {trigger}: {states.get(to)?.display_name ?? to}
        </Badge>
      ))}
    </span>
  );
}

type Translate = TFunction;

function columnsOf(
  workflow: Workflow,
  states: States,
  t: Translate,
): readonly Column<KnownState>[] {
  const role = (name: string | null | undefined) =>
    workflow.roles.find((each) => each.name === name)?.display_name ?? "";
  return [
    {
      id: "state",
      header: t("projectSettings.workflow.state"),
      cell: (state) => (
        <span className={styles.name}>
          <StateGlyph kind={state.cancels ? "cancelled" : kindOfState(state)} label="" />
          {state.display_name}
        </span>
      ),
    },
    {
      id: "kind",
      header: t("projectSettings.workflow.kind"),
      cell: ({ kind }) => t(`projectSettings.kind.${kind}`),
    },
    {
      id: "column",
      header: t("projectSettings.workflow.column"),
      cell: ({ column }) => column,
    },
    {
      id: "role",
      header: t("projectSettings.workflow.role"),
      cell: (state) => role(state.role),
    },
    {
      id: "edges",
      header: t("projectSettings.workflow.edges"),
      cell: (state) => <Edges state={state} states={states} />,
    },
  ];
}

/** The states in board order: what they are for, where they are shown, where they lead by themselves. */
export function WorkflowTable({ projectId }: { projectId: string }) {
  const { t } = useTranslation();
  const view = useOp("project_workflow_get", { project_id: projectId });
  if (view.error) return <ErrorState title={t("projectSettings.failed")} error={view.error} />;
  if (!view.data) return <SkeletonText lines={6} />;
  const { workflow } = view.data;
  const states = statesOf(view.data);
  const columns = columnsOf(workflow, states, t);
  return (
    <div className={styles.card}>
      <Table
        caption={t("projectSettings.tab.workflow")}
        columns={columns}
        rows={[...states.values()]}
        keyOf={({ name }) => name}
      />
    </div>
  );
}
