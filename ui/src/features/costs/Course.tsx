/** The course of costs, a model at a time: as a chart, or as the table that says the same. */
import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { CostLine, CostSeries } from "#ui/api/generated.ts";
import { formatRoute, navigate } from "#ui/app/router.ts";
import { Button } from "#ui/components/Button.tsx";
import { Skeleton } from "#ui/components/Skeleton.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { Select } from "#ui/components/Select.tsx";
import { Table, type Column } from "#ui/components/Table.tsx";
import { keyOf, pointsOf, type Point } from "./line.ts";
import { instant, money, whole } from "./numbers.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Costs.module.css";

const CostChart = lazy(() => import("./CostChart.tsx"));

/** Newest first, a page at a time. */
const pageSize = 100;

const linkIn =
  (project: string) =>
  ({ task }: Point) => <a href={formatRoute("task", { project, number: String(task) })}>#{task}</a>;

function PointTable({ line, points }: { line: CostLine; points: readonly Point[] }) {
  const { t } = useTranslation();
  const [shown, setShown] = useState(pageSize);
  const rows = useMemo(() => points.toReversed().slice(0, shown), [points, shown]);
  const columns: Column<Point>[] = [
    { id: "at", header: t("costPage.ended"), cell: ({ at }) => instant(at) },
    { id: "task", header: t("costPage.task"), cell: linkIn(line.project_id) },
    {
      id: "cost",
      header: t("costPage.cost"),
      align: "end",
      cell: ({ cost }) => money(cost),
    },
    {
      id: "median",
      header: t("costPage.median"),
      align: "end",
      cell: ({ median }) => (median === null ? "–" : money(median)),
    },
    {
      id: "limit",
      header: t("costPage.limit"),
      align: "end",
      cell: ({ limit }) => (limit === null ? "–" : money(limit)),
    },
    {
      id: "anomaly",
      header: t("costPage.anomaly"),
      cell: ({ isAnomaly }) => (isAnomaly ? t("costPage.isAnomaly") : ""),
    },
  ];
  return (
    <>
      {/* Scrolled by the keyboard, too. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className={styles.twin} tabIndex={0} role="group" aria-labelledby="costs-course">
        <Table
          caption={t("costPage.runsOf", { model: line.model || t("costPage.noModel") })}
          columns={columns}
          rows={rows}
          keyOf={({ at, task, cost }) => `${at} ${task} ${cost}`}
        />
      </div>
      {points.length > shown && (
        <Button variant="ghost" onClick={() => setShown(shown + pageSize)}>
          {t("costPage.more")}
        </Button>
      )}
      {line.samples > points.length && (
        <p className={layout.note}>
          {t("costPage.thinned", { shown: whole(points.length), all: whole(line.samples) })}
        </p>
      )}
    </>
  );
}

export function Course({ series }: { series: CostSeries }) {
  const { t } = useTranslation();
  const [chosen, setChosen] = useState<string | null>(null);
  const [look, setLook] = useState<"chart" | "table">("chart");
  const line = series.lines.find((each) => keyOf(each) === chosen) ?? series.lines[0];
  const points = useMemo(() => (line ? pointsOf(line) : []), [line]);
  const several = new Set(series.lines.map(({ project_id }) => project_id)).size > 1;
  const project = line?.project_id ?? "";
  const open = useCallback(
    (task: number) => navigate("task", { project, number: String(task) }),
    [project],
  );
  if (!line) return null;
  const nameOf = (each: CostLine) => {
    const model = each.model || t("costPage.noModel");
    return several ? `${model} · ${each.project_name}` : model;
  };
  return (
    <section className={styles.section} aria-labelledby="costs-course">
      <div className={styles.head}>
        <h2 id="costs-course">{t("costPage.course")}</h2>
        <Select
          label={t("costPage.model")}
          hideLabel
          size="sm"
          value={keyOf(line)}
          options={series.lines.map((each) => ({
            value: keyOf(each),
            label: nameOf(each),
            note: t("costPage.runCount", { count: each.samples }),
          }))}
          onChange={setChosen}
        />
        <span className={layout.fill} />
        <SegmentedControl
          label={t("costPage.look")}
          value={look}
          segments={[
            { value: "chart", label: t("costPage.chart") },
            { value: "table", label: t("costPage.table") },
          ]}
          onChange={setLook}
        />
      </div>
      {points.length === 0 ? (
        <p className={layout.note}>{t("costPage.allUnknown", { count: line.unknown })}</p>
      ) : look === "table" ? (
        <PointTable line={line} points={points} />
      ) : (
        <Suspense fallback={<Skeleton width="100%" height={260} />}>
          <CostChart model={nameOf(line)} points={points} onOpen={open} />
        </Suspense>
      )}
      {points.length > 0 && line.unknown > 0 && (
        <p className={layout.note}>{t("costPage.unknownRuns", { count: line.unknown })}</p>
      )}
      {series.left_off > 0 && (
        <p className={layout.note}>{t("costPage.linesLeftOff", { count: series.left_off })}</p>
      )}
    </section>
  );
}
