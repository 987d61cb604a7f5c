/** What proves a trouble: what was run, how it ended, what it printed, where the rest is. */
import { Timer } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { ErrorAnnotation, Evidence, HookRef } from "#ui/api/generated.ts";
import { AnsiText } from "#ui/components/AnsiText.tsx";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { LogDialog } from "../LogDialog.tsx";
import { hookName } from "../timeline/steps.ts";
import { useOutputLinks } from "../useOutputLinks.ts";
import { Truncate } from "#ui/components/Truncate.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./NeedBanner.module.css";

/** Whether there is anything to be seen in it. */
export const saysNothing = ({ command, exit_code: exit, output, log_id: log }: Evidence) =>
  command === null && exit === null && output === "" && log === null;

export function EvidenceBlock({
  taskId,
  evidence,
  caption,
  openLabel,
}: {
  taskId: string;
  evidence: Evidence;
  caption?: ReactNode;
  openLabel?: string;
}) {
  const { t } = useTranslation();
  const [log, setLog] = useState<string | null>(null);
  const linksIn = useOutputLinks(taskId);
  const { command, exit_code: exit, output, log_id: logId } = evidence;
  return (
    <div className={styles.evidence}>
      <CodeBlock
        code={output}
        maxHeight={180}
        caption={
          caption ?? (
            <>
              <Truncate>{command ?? t("task.evidence")}</Truncate>
              {exit !== null && (
                <Badge tone="danger">{t("conversation.exit", { code: exit })}</Badge>
              )}
            </>
          )
        }
      >
        {output === "" ? t("task.noOutput") : <AnsiText text={output} linksIn={linksIn} />}
      </CodeBlock>
      {logId !== null && (
        <Button size="sm" variant="ghost" flush onClick={() => setLog(logId)}>
          {openLabel ?? t("task.wholeOutput")}
        </Button>
      )}
      <LogDialog
        taskId={taskId}
        logId={log}
        title={command ?? t("task.wholeOutput")}
        onClose={() => setLog(null)}
      />
    </div>
  );
}

function Ending({ annotation, exit }: { annotation: ErrorAnnotation; exit: number | null }) {
  const { t } = useTranslation();
  if (annotation.type === "before_work_hook_timeout") {
    return (
      <Badge tone="danger" icon={<Timer />}>
        {t("review.timedOut")}
      </Badge>
    );
  }
  if (exit === null) return null;
  return <Badge tone="danger">{t("conversation.exit", { code: exit })}</Badge>;
}

const nothing: Evidence = { command: null, exit_code: null, output: "", log_id: null };

/** The hook's own way of showing it: which hook, its command and its end as facts, then its output. */
export function HookEvidence({
  taskId,
  annotation,
  hook,
}: {
  taskId: string;
  annotation: ErrorAnnotation;
  hook: HookRef;
}) {
  const { t } = useTranslation();
  const evidence = annotation.evidence ?? nothing;
  return (
    <>
      <dl className={styles.facts} data-selectable>
        <dt>{t("task.hook.which")}</dt>
        <dd>
          {hookName(hook.event, hook.index, t)}
          <code className={layout.faint}>
            {hook.event}[{hook.index}]
          </code>
        </dd>
        <dt>{t("task.hook.command")}</dt>
        <dd>
          <Truncate as="code">{hook.command}</Truncate>
        </dd>
        <dt>{t("task.hook.ended")}</dt>
        <dd>
          <Ending annotation={annotation} exit={evidence.exit_code} />
          <span className={layout.faint}>{t("task.hook.nobodyStarted")}</span>
        </dd>
      </dl>
      <EvidenceBlock
        taskId={taskId}
        evidence={{ ...evidence, command: hook.command }}
        caption={<Truncate>{t("task.hook.output")}</Truncate>}
        openLabel={t("task.hook.openLog")}
      />
    </>
  );
}
