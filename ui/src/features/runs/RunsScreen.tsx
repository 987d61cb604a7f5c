/** Everything that runs for tasks, and on which machine: agents, checks, hooks, with what they use. */
import { Activity, Bot, ChevronRight, Square, SquareTerminal } from "lucide-react";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { formatRoute, setQuery, useRoute } from "#ui/app/router.ts";
import { Screen } from "#ui/app/Screen.tsx";
import { MachineBadge } from "#ui/domain/machines/MachineBadge.tsx";
import { useKnown, useMachineMap, useMachines } from "#ui/domain/machines/useMachines.ts";
import { thisComputer } from "#ui/domain/machines/machines.ts";
import { bytes } from "#ui/domain/size.ts";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { ApiError, errorText } from "#ui/api/error.ts";
import type { Machine, RunInfo, RunProcess } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { Elapsed } from "#ui/components/Elapsed.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { cpuOf, stopOf, totalsOf, treeOf } from "./looks.ts";
import { History } from "./History.tsx";
import { MachineLoads } from "./MachineLoads.tsx";
import { placeOf, runsAt } from "./places.ts";
import { useLooks } from "./useLooks.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Runs.module.css";

type CpuOf = (process: RunProcess) => number | null;

const percent = (used: number): string =>
  new Intl.NumberFormat(navigator.language, {
    style: "percent",
    maximumFractionDigits: used < 10 ? 1 : 0,
  }).format(used / 100);

function Use({ cpu, memory }: { cpu: number | null; memory: number | null }) {
  const { t } = useTranslation();
  return (
    <>
      <span className={styles.cpu}>
        <span className="visually-hidden">{t("runs.cpu")} </span>
        {cpu === null ? "–" : percent(cpu)}
      </span>
      <span className={styles.memory}>
        <span className="visually-hidden">{t("runs.memory")} </span>
        {memory === null ? "–" : bytes(memory)}
      </span>
    </>
  );
}

/** What a command is, without the folder that its program lies in; that is in its title. */
const withoutFolder = (command: string): string => command.replace(/^\/\S*\//, "");

function Processes({
  run,
  cpu,
  machine,
}: {
  run: RunInfo;
  cpu: CpuOf;
  machine: Machine | undefined;
}) {
  const { t } = useTranslation();
  if (run.processes.length === 0) {
    return (
      <p className={styles.processes}>
        <span className={layout.note}>
          {machine ? t("runs.elsewhere", machine) : t("runs.noProcesses")}
        </span>
      </p>
    );
  }
  return (
    <ul className={styles.processes} aria-label={t("runs.processesOf", { activity: run.activity })}>
      {treeOf(run.processes).map(({ process, depth }) => (
        <li key={process.pid} className={styles.process}>
          <span className={styles.pid}>{process.pid}</span>
          <code
            className={styles.command}
            style={{ paddingInlineStart: depth * 16 }}
            title={process.command}
            data-selectable
          >
            {withoutFolder(process.command)}
          </code>
          <Use cpu={cpu(process)} memory={process.rss_bytes ?? 0} />
        </li>
      ))}
    </ul>
  );
}

function useStop(run: RunInfo, onDone: () => void) {
  const { t } = useTranslation();
  const report = {
    onSuccess: onDone,
    onError: (error: Error) =>
      showToast({
        tone: "danger",
        title: t("runs.notStopped"),
        detail: errorText(ApiError.from(error)),
      }),
  };
  const execution = useOpMutation("execution_stop", report);
  const checks = useOpMutation("review_cancel", report);
  const how = stopOf(run);
  return {
    how,
    busy: execution.isPending || checks.isPending,
    stop: () => {
      if (how === "execution" && run.execution_id) {
        execution.mutate({ execution_id: run.execution_id });
      }
      if (how === "checks" && run.task_id) checks.mutate({ task_id: run.task_id });
    },
  };
}

interface RowProps {
  readonly run: RunInfo;
  readonly cpu: CpuOf;
  readonly agent: string | undefined;
  /** Absent on this computer. */
  readonly machine: Machine | undefined;
  readonly onStopped: () => void;
}

function Row({ run, cpu, agent, machine, onStopped }: RowProps) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const { how, busy, stop } = useStop(run, onStopped);
  // What uses another machine is not measured here.
  const isSeen = run.processes.length > 0;
  const totals = isSeen ? totalsOf(run, cpu) : { cpu: null, memory: null };
  const { project_id: project, task_number: number } = run;
  const title = run.task_title ?? run.activity;
  return (
    <li>
      <div className={styles.row}>
        <button
          type="button"
          className={styles.toggle}
          aria-expanded={open}
          aria-label={t("runs.showProcesses", { title, count: run.processes.length })}
          onClick={() => setOpen(!open)}
        >
          <ChevronRight aria-hidden />
        </button>
        <span className={styles.kind} role="img" aria-label={t(`runs.kind.${run.kind}`)}>
          {run.kind === "agent" ? <Bot /> : <SquareTerminal />}
        </span>
        <div className={styles.text}>
          {project && number !== null ? (
            <a
              className={styles.title}
              href={formatRoute("task", { project, number: String(number) })}
              data-run
            >
              <span className={styles.number}>#{number}</span>
              <span dir="auto">{title}</span>
            </a>
          ) : (
            <span dir="auto" className={styles.title}>
              {title}
            </span>
          )}
          <p className={styles.meta}>
            <span>{agent ?? t(`runs.kind.${run.kind}`)}</span>
            {machine && <MachineBadge machine={machine} />}
            <span className={styles.activity} title={run.activity}>
              {run.activity}
            </span>
          </p>
        </div>
        <span className={styles.elapsed}>
          <Elapsed since={run.started_at} />
        </span>
        <Use {...totals} />
        <span className={styles.stop}>
          {how && (
            <IconButton
              size="sm"
              label={t(how === "checks" ? "runs.stopChecks" : "runs.stop", { title })}
              icon={<Square />}
              disabled={busy}
              onClick={stop}
            />
          )}
        </span>
      </div>
      {open && <Processes run={run} cpu={cpu} machine={machine} />}
    </li>
  );
}

/** Up and down through the runs; Enter follows the link that has the focus. */
function useListKeys() {
  const { t } = useTranslation();
  const commands = useMemo((): Command[] => {
    const step = (by: 1 | -1) => () => {
      const links = [...document.querySelectorAll<HTMLElement>("[data-run]")];
      const at = links.findIndex((link) => link === document.activeElement);
      const next = at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by));
      links[next]?.focus();
    };
    const group = t("nav.runs");
    return [
      { id: "runs.next", label: t("runs.next"), group, keys: ["j", "arrowdown"], run: step(1) },
      {
        id: "runs.previous",
        label: t("runs.previous"),
        group,
        keys: ["k", "arrowup"],
        run: step(-1),
      },
    ];
  }, [t]);
  useCommands(commands);
}

function NoRuns({ isNarrowed }: { isNarrowed: boolean }) {
  const { t } = useTranslation();
  return isNarrowed ? (
    <EmptyState
      icon={<Activity />}
      title={t("runs.noneThere")}
      actions={<Button onClick={() => setQuery({ machine: null })}>{t("runs.showAll")}</Button>}
    >
      {t("runs.noneThereText")}
    </EmptyState>
  ) : (
    <EmptyState icon={<Activity />} title={t("runs.empty")}>
      {t("runs.emptyText")}
    </EmptyState>
  );
}

export default function RunsScreen() {
  const { t } = useTranslation();
  const { before, now, error, refetch } = useLooks();
  const agents = useOp("agent_list", {}).data?.items;
  const names = useMemo(() => new Map(agents?.map(({ id, name }) => [id, name])), [agents]);
  const cpu = useMemo(() => (now ? cpuOf(before, now) : () => null), [before, now]);
  const machines = useMachines();
  const byId = useMachineMap();
  const isUnknown = useKnown() === "failed";
  const route = useRoute();
  const chosen = (route.name === "runs" && route.query["machine"]) || null;
  const all = now?.runs ?? [];
  const runs = runsAt(all, chosen);
  const here = runsAt(all, thisComputer).length;
  useListKeys();
  const again = () => void refetch();
  return (
    <Screen title={t("nav.runs")} layout="page">
      {error ? (
        <ErrorState title={t("runs.failed")} error={error} onRetry={again} />
      ) : !now ? (
        <SkeletonText lines={5} />
      ) : (
        <>
          {isUnknown && <p className={layout.error}>{t("machines.failed")}</p>}
          {(machines.length > 0 || chosen !== null) && (
            <MachineLoads machines={machines} here={here} chosen={chosen} />
          )}
          {runs.length === 0 ? (
            <NoRuns isNarrowed={chosen !== null && all.length > 0} />
          ) : (
            <>
              <div className={styles.heads} aria-hidden>
                <span className={styles.elapsed}>{t("runs.since")}</span>
                <span className={styles.cpu}>{t("runs.cpu")}</span>
                <span className={styles.memory}>{t("runs.memory")}</span>
                <span className={styles.stop} />
              </div>
              <ul className={styles.list} aria-label={t("nav.runs")}>
                {runs.map((run) => (
                  <Row
                    key={run.id}
                    run={run}
                    cpu={cpu}
                    machine={byId.get(placeOf(run))}
                    agent={run.agent_id === null ? undefined : names.get(run.agent_id)}
                    onStopped={again}
                  />
                ))}
              </ul>
            </>
          )}
          <History />
        </>
      )}
    </Screen>
  );
}
