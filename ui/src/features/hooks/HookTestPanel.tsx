import { ChevronRight, CircleAlert, CircleCheck, CircleSlash, Play, TimerOff } from "lucide-react";
import type { TFunction } from "i18next";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import type { HookStatus, HookTest, LifecycleEvent, LifecycleHook } from "#ui/api/generated.ts";
import { AnsiText } from "#ui/components/AnsiText.tsx";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { Combobox } from "#ui/components/Combobox.tsx";
import { Elapsed } from "#ui/components/Elapsed.tsx";
import { Table, type Column } from "#ui/components/Table.tsx";
import { duration } from "#ui/components/time.ts";
import { useHooks } from "./HooksContext.tsx";
import { printedIn } from "./log.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./hooks.module.css";

const tones: Readonly<Record<HookStatus, Tone>> = {
  ok: "success",
  failed: "danger",
  timed_out: "danger",
  skipped: "neutral",
  interrupted: "warning",
};
const icons: Readonly<Record<HookStatus, React.ReactNode>> = {
  ok: <CircleCheck />,
  failed: <CircleAlert />,
  timed_out: <TimerOff />,
  skipped: <CircleSlash />,
  interrupted: <CircleAlert />,
};

interface Run {
  readonly logId: string;
  readonly taskId: string | null;
  readonly since: string;
}

function Output({ name, text }: { name: string; text: string }) {
  const { t } = useTranslation();
  if (text === "") return null;
  return (
    <CodeBlock code={text} caption={name} wrap maxHeight={220}>
      {text.trim() === "" ? t("hooks.nothing") : <AnsiText text={text} />}
    </CodeBlock>
  );
}

/** What is printed while it runs. */
function LiveOutput({ run }: { run: Run }) {
  const { t } = useTranslation();
  const { projectId } = useHooks();
  const part = { log_id: run.logId, limit: 200 };
  const ofTask = useOp(
    "task_log",
    { ...part, task_id: run.taskId ?? "" },
    { enabled: run.taskId !== null },
  );
  const alone = useOp(
    "hook_test_log",
    { ...part, project_id: projectId },
    { enabled: run.taskId === null },
  );
  const page = run.taskId === null ? alone : ofTask;
  const text = printedIn(page.data?.entries ?? []);
  return (
    <div className={styles.live} role="status">
      <span className={styles.running}>
        <span className={styles.pulse} aria-hidden />
        {t("hooks.running")} <Elapsed since={run.since} />
      </span>
      <Output name={t("hooks.output")} text={text} />
    </div>
  );
}

type Variable = readonly [string, string];

const columnsOf = (t: TFunction): readonly Column<Variable>[] => [
  {
    id: "name",
    header: t("hooks.variable"),
    cell: ([name]) => <code data-selectable>{name}</code>,
  },
  {
    id: "value",
    header: t("hooks.value"),
    cell: ([, value]) =>
      value === "" ? (
        <span className={layout.note}>{t("hooks.empty")}</span>
      ) : (
        <code className={layout.anywhere} data-selectable>
          {value}
        </code>
      ),
  },
];

function Result({ test }: { test: HookTest }) {
  const { t } = useTranslation();
  const variables = Object.entries(test.environment).sort(([one], [other]) =>
    one.localeCompare(other),
  );
  return (
    <Stack gap={3} role="group" aria-label={t(`hooks.status.${test.status}`)}>
      <div className={styles.facts}>
        <Badge tone={tones[test.status]} icon={icons[test.status]}>
          {t(`hooks.status.${test.status}`)}
        </Badge>
        <span>
          {test.exit_code === null
            ? t("hooks.noExit")
            : t("hooks.exitCode", { code: test.exit_code })}
        </span>
        <span>{duration(test.duration_ms ?? 0)}</span>
      </div>
      {/* Beside an exit code its own words say nothing more. */}
      {test.error && test.exit_code === null && <p className={styles.error}>{test.error}</p>}
      {test.stdout === "" && test.stderr === "" && (
        <p className={layout.note}>{t("hooks.nothing")}</p>
      )}
      <Output name={t("hooks.stdout")} text={test.stdout} />
      <Output name={t("hooks.stderr")} text={test.stderr} />
      <dl className={styles.where} data-selectable>
        <dt>{t("hooks.dir")}</dt>
        <dd>
          <code>{test.working_dir}</code>
        </dd>
        <dt>{t("hooks.log")}</dt>
        <dd>
          <code>{test.log_path}</code>
        </dd>
      </dl>
      <details className={styles.environment}>
        <summary>
          <ChevronRight aria-hidden />
          {t("hooks.environment")}
        </summary>
        <Table
          caption={t("hooks.environment")}
          rows={variables}
          keyOf={([name]) => name}
          columns={columnsOf(t)}
        />
      </details>
    </Stack>
  );
}

const repository = "";

/** Tries a hook as it is written now, saved or not: in a task's worktree or in the repository. */
export function HookTestPanel({
  event,
  index,
  hook,
}: {
  event: LifecycleEvent;
  index: number;
  hook: LifecycleHook;
}) {
  const { t } = useTranslation();
  const { projectId } = useHooks();
  const [taskId, setTaskId] = useState(repository);
  const [run, setRun] = useState<Run | null>(null);
  const tasks = useOp("task_list", { project_id: projectId, limit: 200 });
  const test = useOpMutation("hook_test");
  const start = () => {
    const next: Run = {
      logId: `hook-test-${crypto.randomUUID()}`,
      taskId: taskId === repository ? null : taskId,
      since: new Date().toISOString(),
    };
    setRun(next);
    test.mutate({
      project_id: projectId,
      event,
      hook_index: index,
      hook,
      log_id: next.logId,
      ...(next.taskId === null ? {} : { task_id: next.taskId }),
    });
  };
  return (
    <section className={styles.test} aria-label={t("hooks.test")}>
      <div className={styles.testHead}>
        <div className={styles.testWhere}>
          <Combobox
            label={t("hooks.testIn")}
            value={taskId}
            disabled={test.isPending}
            options={[
              { value: repository, label: t("hooks.repository") },
              ...(tasks.data?.items ?? []).map(({ id, number, title }) => ({
                value: id,
                label: `#${number} ${title}`,
              })),
            ]}
            onChange={(next) => setTaskId(next ?? repository)}
          />
        </div>
        <Button icon={<Play />} busy={test.isPending} onClick={start}>
          {test.data || test.error ? t("hooks.testAgain") : t("hooks.testRun")}
        </Button>
      </div>
      <p className={layout.note}>{t("hooks.testNote")}</p>
      {test.isPending && run && <LiveOutput run={run} />}
      {test.error && (
        <Banner tone="danger" title={t("hooks.testFailed")}>
          {errorText(test.error)}
        </Banner>
      )}
      {test.data && !test.isPending && <Result test={test.data} />}
    </section>
  );
}
