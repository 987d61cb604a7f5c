/** Every run of an agent that is over, the latest first. */
import { useTranslation } from "react-i18next";
import { useOpPages } from "#ui/api/client.ts";
import type { CostRow, CostsOf } from "#ui/api/generated.ts";
import { formatRoute } from "#ui/app/router.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { Table, type Column } from "#ui/components/Table.tsx";
import { compact, instant, money } from "./numbers.ts";
import styles from "./Costs.module.css";

function Cost({ row }: { row: CostRow }) {
  const { t } = useTranslation();
  if (row.cost_micro_usd === null) return <span>{t("costPage.unknown")}</span>;
  return (
    <span
      title={
        row.cost_source === "computed"
          ? t("costPage.byListPrice", { version: row.price_version ?? "" })
          : t("costPage.asReported")
      }
    >
      {row.cost_source === "computed" ? "≈ " : ""}
      {money(row.cost_micro_usd)}
    </span>
  );
}

function Marks({ row }: { row: CostRow }) {
  const { t } = useTranslation();
  return (
    <span className={styles.marks}>
      {row.is_anomaly && <Badge tone="danger">{t("costPage.isAnomaly")}</Badge>}
      {row.strategy !== null && (
        <Badge tone={row.race_won ? "success" : "neutral"}>
          {row.race_won === null
            ? row.strategy
            : t(row.race_won ? "costPage.won" : "costPage.lost", { strategy: row.strategy })}
        </Badge>
      )}
      {row.is_restart && <Badge look="outline">{t("costPage.restart")}</Badge>}
      {row.status !== "finished" && (
        <Badge look="outline">{t(`costPage.status.${row.status}`)}</Badge>
      )}
    </span>
  );
}

const cost = (row: CostRow) => <Cost row={row} />;
const task = (row: CostRow) => (
  <a
    className={styles.name}
    href={formatRoute("task", { project: row.project_id, number: String(row.task_number) })}
  >
    #{row.task_number} <bdi>{row.task_title}</bdi>
  </a>
);
const marks = (row: CostRow) => <Marks row={row} />;

export function Ledger({ of }: { of: CostsOf }) {
  const { t } = useTranslation();
  const rows = useOpPages("cost_ledger", { ...of, limit: 100 });
  const columns: Column<CostRow>[] = [
    { id: "at", header: t("costPage.ended"), cell: (row) => instant(row.ended_at) },
    { id: "task", header: t("costPage.task"), cell: task },
    { id: "role", header: t("costPage.role"), cell: (row) => t(`costPage.roles.${row.role}`) },
    { id: "agent", header: t("costPage.agent"), cell: (row) => row.agent_name },
    {
      id: "model",
      header: t("costPage.model"),
      cell: (row) =>
        row.models > 1
          ? t("costPage.andMore", { model: row.model ?? "", count: row.models - 1 })
          : (row.model ?? t("costPage.noModel")),
    },
    { id: "cost", header: t("costPage.cost"), align: "end", cell: cost },
    {
      id: "input",
      header: t("costPage.input"),
      align: "end",
      cell: ({ tokens }) => compact(tokens.input + tokens.cacheRead + tokens.cacheWrite),
    },
    {
      id: "output",
      header: t("costPage.output"),
      align: "end",
      cell: ({ tokens }) => compact(tokens.output),
    },
    { id: "marks", header: t("costPage.marks"), cell: marks },
  ];
  return (
    <section className={styles.section} aria-labelledby="costs-runs">
      <div className={styles.head}>
        <h2 id="costs-runs">{t("costPage.everyRun")}</h2>
      </div>
      {rows.error ? (
        <ErrorState
          title={t("costPage.failed")}
          error={rows.error}
          onRetry={() => void rows.refetch()}
        />
      ) : !rows.data ? (
        <SkeletonText lines={5} />
      ) : (
        <div className={styles.twin}>
          <Table
            caption={t("costPage.everyRun")}
            columns={columns}
            rows={rows.data}
            keyOf={(row) => row.execution_id}
          />
        </div>
      )}
      {rows.hasNextPage && (
        <Button
          variant="ghost"
          busy={rows.isFetchingNextPage}
          onClick={() => void rows.fetchNextPage()}
        >
          {t("costPage.more")}
        </Button>
      )}
    </section>
  );
}
