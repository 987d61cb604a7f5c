/** One postmortem: what failed first, what it took, each attempt, each gate, the entries of races. */
import { ChevronRight } from "lucide-react";
import { useTranslation } from "react-i18next";
import type {
  GateFailure,
  Postmortem,
  PostmortemAttempt,
  PostmortemEntry,
  PostmortemGate,
} from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { Table, type Column } from "#ui/components/Table.tsx";
import { duration } from "#ui/components/time.ts";
import { milliseconds, money } from "../numbers.ts";
import { gateName } from "./debrief.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Debrief.module.css";

const took = (count: number | null): string =>
  count === null ? "" : (milliseconds(count) ?? duration(count));

function Gate({ gate }: { gate: string }) {
  const { t } = useTranslation();
  const name = gateName(gate);
  return name.type === "check" ? (
    <code className={styles.gate}>{name.command}</code>
  ) : (
    <>{t(`debrief.gate.${name.type}`)}</>
  );
}

function FirstFailure({ failure }: { failure: GateFailure }) {
  const { t } = useTranslation();
  const { attempt, strategy } = failure;
  return (
    <section className={styles.first} aria-label={t("debrief.first")}>
      <h4>{t("debrief.first")}</h4>
      <p>
        <Gate gate={failure.gate} />{" "}
        <span className={layout.note}>
          {strategy === null
            ? t("debrief.inAttempt", { attempt })
            : t("debrief.inEntry", { attempt, strategy })}
        </span>
      </p>
      <p className={styles.line}>{failure.line ?? failure.what}</p>
    </section>
  );
}

function Facts({ postmortem }: { postmortem: Postmortem }) {
  const { t } = useTranslation();
  const { runs, usage, agent_ms: agent, wall_ms: wall } = postmortem;
  const unknown = usage.runs_of_unknown_cost;
  const cost = [
    ...(usage.cost_micro_usd === null ? [] : [money(usage.cost_micro_usd)]),
    ...(unknown > 0 ? [t("task.unknownCost", { count: unknown })] : []),
  ];
  const facts: readonly [string, string][] = [
    [t("debrief.runs"), String(runs)],
    [t("debrief.agentTime"), took(agent)],
    ...(wall === null ? [] : [[t("debrief.wholeTime"), took(wall)] as [string, string]]),
    ...(cost.length === 0 ? [] : [[t("debrief.cost"), cost.join(", ")] as [string, string]]),
  ];
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function useAttemptColumns(): readonly Column<PostmortemAttempt>[] {
  const { t } = useTranslation();
  const cost = ({ cost_micro_usd: known }: PostmortemAttempt) =>
    known === null ? t("debrief.unknown") : money(known);
  return [
    { id: "number", header: t("debrief.attempt"), cell: ({ number }) => number },
    {
      id: "end",
      header: t("debrief.end"),
      cell: ({ failed, status }) =>
        failed ? <Gate gate={failed.gate} /> : t(`debrief.status.${status}`),
    },
    { id: "runs", header: t("debrief.runs"), align: "end", cell: ({ runs }) => runs },
    {
      id: "agent",
      header: t("debrief.agentTime"),
      align: "end",
      cell: ({ agent_ms: agent }) => took(agent),
    },
    {
      id: "judged",
      header: t("debrief.judged"),
      align: "end",
      cell: ({ judged_ms: judged }) => took(judged),
    },
    { id: "cost", header: t("debrief.cost"), align: "end", cell: cost },
  ];
}

function useGateColumns(): readonly Column<PostmortemGate>[] {
  const { t } = useTranslation();
  return [
    {
      id: "gate",
      header: t("debrief.gateColumn"),
      cell: ({ gate, flapping }) => (
        <span className={styles.named}>
          <Gate gate={gate} />
          {flapping && <Badge tone="warning">{t("debrief.flapping")}</Badge>}
        </span>
      ),
    },
    { id: "passed", header: t("debrief.passed"), align: "end", cell: ({ passed }) => passed },
    { id: "failed", header: t("debrief.failedTimes"), align: "end", cell: ({ failed }) => failed },
  ];
}

function useEntryColumns(): readonly Column<PostmortemEntry>[] {
  const { t } = useTranslation();
  return [
    { id: "strategy", header: t("debrief.entry"), cell: ({ strategy }) => strategy },
    {
      id: "end",
      header: t("debrief.end"),
      cell: ({ failed, gate }) =>
        failed ? <Gate gate={failed.gate} /> : t(`debrief.result.${gate}`),
    },
    {
      id: "time",
      header: t("debrief.wholeTime"),
      align: "end",
      cell: ({ duration_ms: time }) => took(time),
    },
    {
      id: "cost",
      header: t("debrief.cost"),
      align: "end",
      cell: ({ cost_micro_usd: cost }) => (cost === null ? t("debrief.unknown") : money(cost)),
    },
  ];
}

export function PostmortemPart({
  postmortem,
  newest,
}: {
  postmortem: Postmortem;
  newest: boolean;
}) {
  const { t } = useTranslation();
  const { number, attempts, gates, entries, first_failure: first } = postmortem;
  const columns = {
    attempts: useAttemptColumns(),
    gates: useGateColumns(),
    entries: useEntryColumns(),
  };
  return (
    <details className={styles.part} open={newest}>
      <summary className={styles.head}>
        <ChevronRight aria-hidden />
        <h3>{t("debrief.postmortem", { number })}</h3>
        <span className={layout.note}>
          {t(`debrief.cause.${postmortem.cause}`)} <RelativeTime at={postmortem.at} />
        </span>
      </summary>
      <div className={styles.body}>
        {first && <FirstFailure failure={first} />}
        <Facts postmortem={postmortem} />
        {attempts.length > 0 && (
          <Table
            caption={t("debrief.attempts")}
            columns={columns.attempts}
            rows={attempts}
            keyOf={(row) => String(row.number)}
          />
        )}
        {gates.length > 0 && (
          <Table
            caption={t("debrief.gates")}
            columns={columns.gates}
            rows={gates}
            keyOf={(row) => row.gate}
          />
        )}
        {entries.length > 0 && (
          <Table
            caption={t("debrief.entries")}
            columns={columns.entries}
            rows={entries}
            keyOf={(row) => `${row.race} ${row.strategy}`}
          />
        )}
      </div>
    </details>
  );
}
