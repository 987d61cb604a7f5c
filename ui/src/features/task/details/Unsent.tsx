/** What is still to be written to the issue of a task, and why it was not written. */
import { useLayoutEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { ReportKind, Task, UnsentReport } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Countdown } from "#ui/components/Elapsed.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import { ActionError } from "../ActionError.tsx";
import { useAction } from "../useAction.ts";
import { problemsOf, type Problem } from "./unsent.ts";

function useKinds() {
  const { t } = useTranslation();
  return (kinds: readonly ReportKind[]) =>
    kinds.map((kind) => t(`taskIssue.report.${kind}`)).join(", ");
}

function ProblemText({ problem }: { problem: Problem }) {
  const { t } = useTranslation();
  const words = useKinds();
  const { kinds, text, remedy, retryAt } = problem;
  return (
    <Stack as="li" gap={1}>
      <p>{t("taskIssue.unsentWhat", { what: words(kinds) })}</p>
      <p>{text}</p>
      {remedy !== null && <p>{remedy}</p>}
      {retryAt !== null && (
        <p>
          {t("taskIssue.retriesIn")} <Countdown until={retryAt} />
        </p>
      )}
    </Stack>
  );
}

interface NotWrittenProps {
  readonly task: Task;
  readonly problems: readonly Problem[];
  readonly onRetried: () => void;
  /** The button goes, and what has the focus with it. */
  readonly onLeave: () => void;
}

function NotWritten({ task, problems, onRetried, onLeave }: NotWrittenProps) {
  const { t } = useTranslation();
  const action = useAction();
  const box = useRef<HTMLDivElement>(null);
  const leave = useRef(onLeave);
  useLayoutEffect(() => {
    leave.current = onLeave;
  });
  useLayoutEffect(() => {
    const shown = box.current;
    return () => {
      if (shown?.contains(document.activeElement)) leave.current();
    };
  }, []);
  const retry = async () => {
    if (await action.run("task_issue_retry", { task_id: task.id })) onRetried();
  };
  return (
    <Stack gap={2} ref={box}>
      <Banner
        tone="warning"
        title={t("taskIssue.unsent")}
        actions={
          <Button size="sm" busy={action.busy !== null} onClick={() => void retry()}>
            {t("taskIssue.retry")}
          </Button>
        }
      >
        <Stack as="ul" gap={2}>
          {problems.map((problem) => (
            <ProblemText key={problem.kinds.join()} problem={problem} />
          ))}
        </Stack>
      </Banner>
      <ActionError
        title={t("taskIssue.notRetried")}
        error={action.error}
        onDismiss={action.dismiss}
      />
    </Stack>
  );
}

export function Unsent({
  unsent,
  ...rest
}: { unsent: readonly UnsentReport[] } & Omit<NotWrittenProps, "problems">) {
  const { t } = useTranslation();
  const words = useKinds();
  const { problems, queued } = problemsOf(unsent);
  return (
    <>
      {problems.length > 0 && <NotWritten {...rest} problems={problems} />}
      {queued.length > 0 && (
        <p className={layout.note}>{t("taskIssue.queued", { what: words(queued) })}</p>
      )}
    </>
  );
}
