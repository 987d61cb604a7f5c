/** What runs cost: a project's day, the course by model, what was out of the ordinary, sums, and every run. */
import { CircleDollarSign, Download } from "lucide-react";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { PeriodFilters, usePeriod, type Period } from "#ui/app/Period.tsx";
import { Screen } from "#ui/app/Screen.tsx";
import { useProjects } from "#ui/app/useProjects.ts";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Skeleton, SkeletonText } from "#ui/components/Skeleton.tsx";
import { Anomalies } from "./Anomalies.tsx";
import { Course } from "./Course.tsx";
import { Ledger } from "./Ledger.tsx";
import { Figures, Sums } from "./Sums.tsx";
import { Today } from "./Today.tsx";
import { useCsv } from "./useCsv.ts";
import layout from "#ui/components/layout.module.css";

/** The project whose day is shown: the one that is chosen, or the only one. */
function useProjectOfDay(chosen: string | null): string | null {
  const [only, ...others] = useProjects();
  return chosen ?? (others.length === 0 ? (only?.id ?? null) : null);
}

function Content({ range, project, of }: Period) {
  const { t } = useTranslation();
  const projectOfDay = useProjectOfDay(project);
  const totals = useOp("cost_totals", of, { keepPrevious: true });
  const series = useOp("cost_series", of, { keepPrevious: true });
  const anomalies = useOp("cost_anomalies", { ...of, limit: 50 }, { keepPrevious: true });
  const error = totals.error ?? series.error ?? anomalies.error;
  if (error) {
    const again = () => void [totals, series, anomalies].map((query) => query.refetch());
    return <ErrorState title={t("costPage.failed")} error={error} onRetry={again} />;
  }
  if (totals.data?.all.runs === 0) {
    return (
      <EmptyState
        icon={<CircleDollarSign />}
        title={t(range === "all" ? "costPage.empty" : "costPage.emptyRangeTitle")}
      >
        {t(range === "all" ? "costPage.emptyText" : "costPage.emptyRange")}
      </EmptyState>
    );
  }
  return (
    <>
      {projectOfDay !== null && <Today project={projectOfDay} />}
      {totals.data ? <Figures all={totals.data.all} /> : <Skeleton width="100%" height={76} />}
      {series.data ? <Course series={series.data} /> : <SkeletonText lines={6} />}
      {anomalies.data && <Anomalies items={anomalies.data.items} />}
      {totals.data && <Sums totals={totals.data} />}
      <Ledger of={of} />
    </>
  );
}

export default function CostsScreen() {
  const { t } = useTranslation();
  const chosen = usePeriod("30");
  const { busy, save } = useCsv(chosen.of);
  const commands = useMemo<Command[]>(
    () => [
      {
        id: "costs.csv",
        label: t("costPage.saveCsv"),
        group: t("nav.costs"),
        keys: ["e"],
        run: save,
      },
    ],
    [t, save],
  );
  useCommands(commands);
  return (
    <Screen
      title={t("nav.costs")}
      filters={<PeriodFilters {...chosen} />}
      actions={
        <Button size="sm" icon={<Download />} busy={busy} onClick={save}>
          {t("costPage.csv")}
        </Button>
      }
      layout="full"
    >
      <div className={layout.widePage}>
        <Content {...chosen} />
      </div>
    </Screen>
  );
}
