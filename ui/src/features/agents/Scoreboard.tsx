/** What the work of agents came to: a line for each, and who won against whom in races. */
import { Download, Trophy } from "lucide-react";
import { useTranslation } from "react-i18next";
import { call, useOp } from "#ui/api/client.ts";
import type { Duel, ScoreGroup, ScoreRow, Scored, Share } from "#ui/api/generated.ts";
import { PeriodFilters, usePeriod } from "#ui/app/Period.tsx";
import { setQuery, useRoute } from "#ui/app/router.ts";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Row } from "#ui/components/Row.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { Table, type Column } from "#ui/components/Table.tsx";
import { duration } from "#ui/components/time.ts";
import { money } from "#ui/domain/money.ts";
import { percent } from "#ui/domain/percent.ts";
import { useCsv } from "#ui/domain/useCsv.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Scoreboard.module.css";

const groups = ["agent", "model", "effort"] as const satisfies readonly ScoreGroup[];

/** What lines are for stands in the address beside the period. */
function useGroup(): ScoreGroup {
  const route = useRoute();
  const by = route.name === null ? undefined : route.query["by"];
  return groups.find((group) => group === by) ?? "agent";
}

const nameOf = ({ agent_name, model, effort }: Scored): string =>
  [agent_name, model, effort].filter((part) => part !== null).join(", ");

/** A share as a point on a line from 0 to 100 %, with its interval, and in words. */
function Rate({ share }: { share: Share }) {
  const { t } = useTranslation();
  const count = t("scores.of", { count: share.count, of: share.of });
  if (share.rate === null || share.low === null || share.high === null) {
    return (
      <span className={styles.little} title={share.of > 0 ? t("scores.little") : undefined}>
        {share.of > 0 ? count : "–"}
      </span>
    );
  }
  const [low, high] = [percent(share.low), percent(share.high)];
  return (
    <span className={styles.rate} title={t("scores.interval", { low, high })}>
      <span className={styles.line} aria-hidden>
        <span
          className={styles.band}
          style={{
            insetInlineStart: `${share.low * 100}%`,
            width: `${(share.high - share.low) * 100}%`,
          }}
        />
        <span className={styles.point} style={{ insetInlineStart: `${share.rate * 100}%` }} />
      </span>
      <span>
        <strong>{percent(share.rate)}</strong> <span className={styles.little}>{count}</span>
        <span className="visually-hidden">, {t("scores.interval", { low, high })}</span>
      </span>
    </span>
  );
}

function Cost({ row }: { row: ScoreRow }) {
  const { t } = useTranslation();
  if (row.unknown > 0 && row.unknown === row.runs) return t("scores.unknown");
  return (
    <>
      {money(row.cost_micro_usd)}
      {row.unknown > 0 && (
        <span className={styles.little}> {t("scores.without", { count: row.unknown })}</span>
      )}
    </>
  );
}

function useColumns(): Column<ScoreRow>[] {
  const { t } = useTranslation();
  const known = (value: number | null, say: (value: number) => string) =>
    value === null ? <span className={styles.little}>{t("scores.little")}</span> : say(value);
  const decimal = new Intl.NumberFormat(navigator.language, { maximumFractionDigits: 1 });
  return [
    {
      id: "who",
      header: t("scores.agent"),
      cell: ({ who }) => (
        <span className={styles.who} dir="auto">
          {nameOf(who)}
        </span>
      ),
    },
    { id: "tasks", header: t("scores.tasks"), align: "end", cell: ({ tasks }) => tasks },
    {
      id: "first",
      header: t("scores.passedFirst"),
      cell: (row) => <Rate share={row.passed_first} />,
    },
    { id: "merged", header: t("scores.merged"), cell: (row) => <Rate share={row.merged} /> },
    { id: "blocked", header: t("scores.blocked"), cell: (row) => <Rate share={row.blocked} /> },
    {
      id: "retries",
      header: t("scores.retries"),
      align: "end",
      cell: (row) => known(row.retries_per_merged, (value) => decimal.format(value)),
    },
    {
      id: "median",
      header: t("scores.median"),
      align: "end",
      cell: (row) => known(row.median_ms, duration),
    },
    {
      id: "p90",
      header: t("scores.p90"),
      align: "end",
      cell: (row) => known(row.p90_ms, duration),
    },
    {
      id: "perMerged",
      header: t("scores.perMerged"),
      align: "end",
      cell: (row) => known(row.cost_per_merged_micro_usd, money),
    },
    { id: "cost", header: t("scores.cost"), align: "end", cell: (row) => <Cost row={row} /> },
    {
      id: "lines",
      header: t("scores.lines"),
      align: "end",
      cell: (row) => t("scores.changed", { added: row.lines_added, removed: row.lines_removed }),
    },
  ];
}

function Races({ duels }: { duels: readonly Duel[] }) {
  const { t } = useTranslation();
  const columns: Column<Duel>[] = [
    { id: "first", header: t("scores.agent"), cell: ({ first }) => nameOf(first) },
    { id: "second", header: t("scores.against"), cell: ({ second }) => nameOf(second) },
    { id: "won", header: t("scores.won"), align: "end", cell: (duel) => duel.first_won },
    { id: "lost", header: t("scores.lost"), align: "end", cell: (duel) => duel.second_won },
    { id: "neither", header: t("scores.neither"), align: "end", cell: (duel) => duel.neither },
  ];
  return (
    <Stack as="section" gap={3} aria-labelledby="scores-races">
      <h2 id="scores-races">{t("scores.races")}</h2>
      <Table
        caption={t("scores.races")}
        columns={columns}
        rows={duels}
        keyOf={({ first, second }) => JSON.stringify([first, second])}
      />
    </Stack>
  );
}

export function Scoreboard() {
  const { t } = useTranslation();
  const platform = usePlatform();
  const period = usePeriod("90");
  const by = useGroup();
  const of = { by, ...period.of };
  const board = useOp("scoreboard", of, { keepPrevious: true });
  const columns = useColumns();
  const csv = useCsv({
    name: "forge-scoreboard.csv",
    page: () => call(platform, "scoreboard_csv", of),
    saved: t("scores.saved"),
    notSaved: t("scores.notSaved"),
  });
  return (
    <Stack gap={6}>
      <Row gap={4} wrap>
        <PeriodFilters {...period} />
        <SegmentedControl
          label={t("scores.by")}
          value={by}
          segments={groups.map((value) => ({ value, label: t(`scores.groups.${value}`) }))}
          onChange={(value) => setQuery({ by: value === "agent" ? null : value })}
        />
        <span className={layout.fill} />
        <Button
          size="sm"
          icon={<Download />}
          busy={csv.busy}
          disabled={!board.data?.rows.length}
          onClick={csv.save}
        >
          {t("scores.csv")}
        </Button>
      </Row>
      {board.error ? (
        <ErrorState
          title={t("scores.failed")}
          error={board.error}
          onRetry={() => void board.refetch()}
        />
      ) : !board.data ? (
        <SkeletonText lines={5} />
      ) : board.data.rows.length === 0 ? (
        <EmptyState icon={<Trophy />} title={t("scores.empty")}>
          {t("scores.emptyText")}
        </EmptyState>
      ) : (
        <>
          <Table
            caption={t("scores.title")}
            columns={columns}
            rows={board.data.rows}
            keyOf={({ who }) => JSON.stringify(who)}
          />
          <p className={layout.note}>{t("scores.note")}</p>
          {board.data.duels.length > 0 && <Races duels={board.data.duels} />}
        </>
      )}
    </Stack>
  );
}
