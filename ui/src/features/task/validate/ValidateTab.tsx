/** Validation of a task's work: the latest attempt in full, those before it as lines, and what is checked. */
import { ListChecks, Square } from "lucide-react";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { IterationState, Task, ValidateInput, ValidateReport } from "#ui/api/generated.ts";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Select } from "#ui/components/Select.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { ActionError } from "../ActionError.tsx";
import { CheckList } from "../CheckLine.tsx";
import { useAction } from "../useAction.ts";
import { Attempts } from "./Attempts.tsx";
import { CheckRow } from "./CheckRow.tsx";
import { ChecksForm } from "./ChecksForm.tsx";
import { Verdict } from "./Verdict.tsx";
import {
  draftOf,
  earlierOf,
  hasChecks,
  inputOf,
  modulesOf,
  placeOf,
  type Module,
  type Place,
} from "./validate.ts";
import { Row } from "#ui/components/Row.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import parts from "../TabParts.module.css";
import styles from "./Validate.module.css";

/** The key of what may be done again without being told anew. */
function AgainKey({ busy, again }: { busy: boolean; again: () => void }) {
  const { t } = useTranslation();
  const commands = useMemo<Command[]>(
    () => [
      {
        id: "validate.again",
        label: t("validate.again"),
        group: t("task.tab.validate"),
        keys: ["shift+v"],
        enabled: !busy,
        run: again,
      },
    ],
    [t, busy, again],
  );
  useCommands(commands);
  return null;
}

/** What is not counted is not kept: it is said once, where it was asked for. */
function Uncounted({ report }: { report: ValidateReport }) {
  const { t } = useTranslation();
  return (
    <Banner tone="warning" title={t("validate.uncounted")}>
      {report.notice ?? t(`validate.recommendation.${report.recommendation}`)}
    </Banner>
  );
}

interface WorkProps {
  readonly task: Task;
  readonly place: Place;
  readonly module: Module;
  readonly state: IterationState;
}

function Work({ task, place, module, state }: WorkProps) {
  const { t } = useTranslation();
  const { busy, error, dismiss, run } = useAction();
  const stopping = useAction();
  const [report, setReport] = useState<ValidateReport | null>(null);
  const [changing, setChanging] = useState(false);
  const [resetting, setResetting] = useState(false);
  const { attempts = [], results = [], input, unreadable } = state;
  const latest = attempts.at(-1);
  const last = input && hasChecks(input) ? input : null;
  const validate = (wanted: ValidateInput) =>
    void run("validate", wanted).then((answer) => {
      if (!answer) return;
      setReport(answer);
      setChanging(false);
    });
  const again = () => last && validate({ ...last, ...module, ...place });
  const reset = () =>
    void run("validate_reset", { ...module, ...place }).then((answer) => {
      if (answer) setReport(null);
      setResetting(false);
    });
  const isRunning = busy === "validate";
  const stop = isRunning && (
    <Button
      size="sm"
      icon={<Square />}
      busy={stopping.busy !== null}
      onClick={() => void stopping.run("validate_cancel", { ...module, ...place })}
    >
      {t("validate.stop")}
    </Button>
  );
  const isForm = changing || !last;
  const shown = report?.attempt === 0 ? report.results : results;
  return (
    <>
      {unreadable && (
        <Banner tone="warning" title={t("validate.unreadable")}>
          {unreadable}
        </Banner>
      )}
      {report?.attempt === 0 && <Uncounted report={report} />}
      {latest && (
        <Stack as="section" gap={3} aria-label={t("validate.latest")}>
          <Verdict attempt={latest} results={results} />
        </Stack>
      )}
      {!latest && !report && (
        <EmptyState icon={<ListChecks />} title={t("validate.none")}>
          {t("validate.noneText")}
        </EmptyState>
      )}
      {/* Whoever stopped it knows. */}
      <ActionError
        title={t("validate.refused")}
        error={stopping.error ?? (error?.code === "cancelled" ? null : error)}
        onDismiss={stopping.error ? stopping.dismiss : dismiss}
      />
      {last && !changing && (
        <Row wrap gap={2}>
          <AgainKey busy={busy !== null} again={again} />
          <Button
            size="sm"
            variant="primary"
            keys="shift+v"
            busy={isRunning}
            disabled={busy !== null}
            onClick={again}
          >
            {t("validate.again")}
          </Button>
          {stop}
          <Button size="sm" disabled={busy !== null} onClick={() => setChanging(true)}>
            {t("validate.change")}
          </Button>
          {latest && (
            <Button
              size="sm"
              variant="ghost"
              disabled={busy !== null}
              onClick={() => setResetting(true)}
            >
              {t("validate.reset")}
            </Button>
          )}
        </Row>
      )}
      {isForm && (
        <ChecksForm
          first={draftOf(input, task.review_config?.ci_steps ?? [])}
          busy={isRunning}
          stop={stop}
          onRun={(draft) => validate(inputOf(draft, module, place))}
          {...(last ? { onCancel: () => setChanging(false) } : {})}
        />
      )}
      {shown.length > 0 && !changing && (
        <CheckList label={t("validate.results")}>
          {shown.map((check, index) => (
            // The same check may be asked for twice; the order is the checks' own.
            // oxlint-disable-next-line react/no-array-index-key
            <CheckRow key={`${attempts.length} ${index}`} check={check} />
          ))}
        </CheckList>
      )}
      <Attempts attempts={earlierOf(attempts)} />
      <AlertDialog
        open={resetting}
        onOpenChange={setResetting}
        title={t("validate.resetTitle")}
        description={t("validate.resetText", { count: attempts.length })}
        confirmLabel={t("validate.reset")}
        danger
        busy={busy === "validate_reset"}
        onConfirm={reset}
      />
    </>
  );
}

const keyOf = ({ moduleId, runId }: Module): string => `${runId ?? ""}/${moduleId}`;

function Loaded({ task, place }: { task: Task; place: Place }) {
  const { t } = useTranslation();
  const log = useOp("validate_log", { ...place, limit: 200 });
  const modules = modulesOf(task, log.data);
  const [chosen, setChosen] = useState("");
  const own: Module = { moduleId: task.id, runId: null };
  const module = modules.find((each) => keyOf(each) === chosen) ?? modules[0] ?? own;
  const state = useOp("validate_state", { ...module, ...place });
  const nameOf = (each: Module) =>
    each.moduleId === task.id
      ? t("validate.ownModule")
      : [each.runId, each.moduleId].filter(Boolean).join(" / ");
  return (
    <div className={parts.page} aria-busy={!state.data && !state.error}>
      {modules.length > 1 && (
        <div className={styles.module}>
          <Select
            label={t("validate.module")}
            size="sm"
            value={keyOf(module)}
            options={modules.map((each) => ({ value: keyOf(each), label: nameOf(each) }))}
            onChange={setChosen}
          />
        </div>
      )}
      {state.data ? (
        <Work key={keyOf(module)} task={task} place={place} module={module} state={state.data} />
      ) : state.error ? (
        <ErrorState
          title={t("validate.readFailed")}
          error={state.error}
          onRetry={() => void state.refetch()}
        />
      ) : (
        <SkeletonText lines={4} />
      )}
    </div>
  );
}

export function ValidateTab({ task }: { task: Task }) {
  const { t } = useTranslation();
  const place = placeOf(task);
  if (place) return <Loaded task={task} place={place} />;
  return (
    <EmptyState icon={<ListChecks />} title={t("validate.noWorktree")}>
      {t("validate.noWorktreeText")}
    </EmptyState>
  );
}
