/** What all of it adds up to: in a row of figures, and by day, project, task, agent or model. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { CostSum, CostTotals } from "#ui/api/generated.ts";
import { formatRoute } from "#ui/app/router.ts";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { Table, type Column } from "#ui/components/Table.tsx";
import { compact, day, money, share, whole } from "./numbers.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Costs.module.css";

const kinds = ["days", "projects", "tasks", "agents", "models"] as const;
type Kind = (typeof kinds)[number];

const isKnown = ({ runs, unknown }: CostSum): boolean => runs > unknown;

export function Figures({ all }: { all: CostSum }) {
  const { t } = useTranslation();
  const reported = all.cost_micro_usd - all.list_price_micro_usd;
  return (
    <dl className={styles.figures}>
      <div>
        <dt>{t("costPage.all")}</dt>
        <dd>{isKnown(all) ? money(all.cost_micro_usd) : t("costPage.unknown")}</dd>
      </div>
      <div>
        <dt>{t("costPage.reported")}</dt>
        <dd>{money(reported)}</dd>
      </div>
      <div title={t("costPage.listPriceHint")}>
        <dt>{t("costPage.listPrice")}</dt>
        <dd>{money(all.list_price_micro_usd)}</dd>
      </div>
      <div>
        <dt>{t("costPage.runs")}</dt>
        <dd>{whole(all.runs)}</dd>
      </div>
      <div>
        <dt>{t("costPage.unknownCost")}</dt>
        <dd>{whole(all.unknown)}</dd>
      </div>
      <div>
        <dt>{t("costPage.cached")}</dt>
        <dd>{all.cached_share === null ? "–" : share(all.cached_share)}</dd>
      </div>
    </dl>
  );
}

function Name({ kind, sum }: { kind: Kind; sum: CostSum }) {
  const { t } = useTranslation();
  if (kind === "days") return day(sum.key);
  if (kind === "tasks" && sum.project_id !== null && sum.task_number !== null) {
    const number = String(sum.task_number);
    return (
      <a href={formatRoute("task", { project: sum.project_id, number })}>
        #{number} {sum.label}
      </a>
    );
  }
  return sum.label || t("costPage.noModel");
}

const nameBy = (kind: Kind) => (sum: CostSum) => (
  <span className={styles.name}>
    <Name kind={kind} sum={sum} />
  </span>
);

export function Sums({ totals }: { totals: CostTotals }) {
  const { t } = useTranslation();
  const [kind, setKind] = useState<Kind>("days");
  const columns: Column<CostSum>[] = [
    {
      id: "name",
      header: t(`costPage.by.${kind}`),
      cell: nameBy(kind),
    },
    {
      id: "cost",
      header: t("costPage.cost"),
      align: "end",
      cell: (sum) => (isKnown(sum) ? money(sum.cost_micro_usd) : t("costPage.unknown")),
    },
    {
      id: "listPrice",
      header: t("costPage.ofListPrice"),
      align: "end",
      cell: (sum) => (sum.list_price_micro_usd > 0 ? money(sum.list_price_micro_usd) : "–"),
    },
    { id: "runs", header: t("costPage.runs"), align: "end", cell: (sum) => whole(sum.runs) },
    {
      id: "unknown",
      header: t("costPage.unknownShort"),
      align: "end",
      cell: (sum) => (sum.unknown > 0 ? whole(sum.unknown) : "–"),
    },
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
    {
      id: "cached",
      header: t("costPage.cachedShort"),
      align: "end",
      cell: (sum) => (sum.cached_share === null ? "–" : share(sum.cached_share)),
    },
  ];
  return (
    <section className={styles.section} aria-labelledby="costs-sums">
      <div className={styles.head}>
        <h2 id="costs-sums">{t("costPage.sums")}</h2>
        <span className={layout.fill} />
        <SegmentedControl
          label={t("costPage.sumsBy")}
          value={kind}
          segments={kinds.map((value) => ({ value, label: t(`costPage.by.${value}`) }))}
          onChange={setKind}
        />
      </div>
      {/* Scrolled by the keyboard, too: not every list of sums has links in it. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className={styles.twin} tabIndex={0} role="group" aria-labelledby="costs-sums">
        <Table
          caption={t("costPage.sumsCaption", { by: t(`costPage.by.${kind}`) })}
          columns={columns}
          rows={totals[kind]}
          keyOf={({ key }) => key}
        />
      </div>
      {totals.left_off > 0 && totals[kind].length >= 400 && (
        <p className={layout.note}>{t("costPage.sumsLeftOff", { count: totals[kind].length })}</p>
      )}
    </section>
  );
}
