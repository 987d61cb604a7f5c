/** What runs cost: the course by model, what was out of the ordinary, sums, and every run. */
import { CircleDollarSign, Download } from "lucide-react";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { CostsOf } from "#ui/api/generated.ts";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { setQuery, useRoute } from "#ui/app/router.ts";
import { Screen } from "#ui/app/Screen.tsx";
import { useProjects } from "#ui/app/useProjects.ts";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { Select } from "#ui/components/Select.tsx";
import { Skeleton, SkeletonText } from "#ui/components/Skeleton.tsx";
import { Anomalies } from "./Anomalies.tsx";
import { Course } from "./Course.tsx";
import { Ledger } from "./Ledger.tsx";
import { rangeOf, ranges, since, type Range } from "#ui/domain/range.ts";
import { Figures, Sums } from "./Sums.tsx";
import { useCsv } from "./useCsv.ts";
import layout from "#ui/components/layout.module.css";

const everyProject = "*";

interface Chosen {
  readonly range: Range;
  readonly project: string | null;
  readonly of: CostsOf;
}

/** The filters stand in the address, so that they survive a reload. */
function useChosen(): Chosen {
  const route = useRoute();
  const query = route.name === null ? {} : route.query;
  const range = rangeOf(query["range"]);
  const project = query["of"] ?? null;
  // The day on which the page was opened: looked at once, so that what is asked stays the same.
  const [now] = useState(() => Date.now());
  const of = useMemo(
    () => ({ ...since(range, now), ...(project === null ? {} : { project }) }),
    [range, project, now],
  );
  return { range, project, of };
}

function Filters({ range, project }: Chosen) {
  const { t } = useTranslation();
  const projects = useProjects();
  return (
    <>
      <Select
        label={t("nav.project")}
        hideLabel
        size="sm"
        value={project ?? everyProject}
        options={[
          { value: everyProject, label: t("costPage.everyProject") },
          ...projects.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        onChange={(value) => setQuery({ of: value === everyProject ? null : value })}
      />
      <SegmentedControl
        label={t("costPage.range")}
        value={range}
        segments={ranges.map((value) => ({ value, label: t(`costPage.ranges.${value}`) }))}
        onChange={(value) => setQuery({ range: value === "30" ? null : value })}
      />
    </>
  );
}

function Content({ range, of }: Chosen) {
  const { t } = useTranslation();
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
  const chosen = useChosen();
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
      filters={<Filters {...chosen} />}
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
