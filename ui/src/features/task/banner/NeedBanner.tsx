/** Says on top why the task needs the person, proves it, and offers what helps. */
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Evidence, Offer, Task, Workflow } from "#ui/api/generated.ts";
import { AnsiText } from "#ui/components/AnsiText.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { LogDialog } from "../LogDialog.tsx";
import { needOf, stateOf } from "../state.ts";
import { useAction } from "../useAction.ts";
import { Offers } from "./Offers.tsx";
import { asOffers } from "./offers.ts";
import styles from "./NeedBanner.module.css";

const saysNothing = ({ command, exit_code: exit, output, log_id: log }: Evidence) =>
  command === null && exit === null && output === "" && log === null;

function EvidenceBlock({ task, evidence }: { task: Task; evidence: Evidence }) {
  const { t } = useTranslation();
  const [log, setLog] = useState<string | null>(null);
  const { command, exit_code: exit, output, log_id: logId } = evidence;
  return (
    <div className={styles.evidence}>
      <CodeBlock
        code={output}
        maxHeight={180}
        caption={
          <>
            <span className={styles.command}>{command ?? t("task.evidence")}</span>
            {exit !== null && <Badge tone="danger">{t("conversation.exit", { code: exit })}</Badge>}
          </>
        }
      >
        {output === "" ? t("task.noOutput") : <AnsiText text={output} />}
      </CodeBlock>
      {logId !== null && (
        <Button size="sm" variant="ghost" onClick={() => setLog(logId)}>
          {t("task.wholeOutput")}
        </Button>
      )}
      <LogDialog
        taskId={task.id}
        logId={log}
        title={command ?? t("task.wholeOutput")}
        onClose={() => setLog(null)}
      />
    </div>
  );
}

function Files({ files }: { files: readonly string[] }) {
  return (
    <ul className={styles.files} data-selectable>
      {files.map((file) => (
        <li key={file}>
          <code>{file}</code>
        </li>
      ))}
    </ul>
  );
}

export interface NeedBannerProps {
  readonly task: Task;
  readonly workflow: Workflow | undefined;
  /** The evidence is a press away: what stands below needs the height. */
  readonly compact?: boolean;
}

export function NeedBanner({ task, workflow, compact = false }: NeedBannerProps) {
  const { t } = useTranslation();
  const [unfolded, setUnfolded] = useState(false);
  const action = useAction();
  const need = needOf(task, workflow);
  if (!need) return null;
  const offers = asOffers(task.offers);
  const folds = (evidence: ReactNode) =>
    evidence && compact
      ? {
          evidence: unfolded && evidence,
          more: (
            <Button
              size="sm"
              variant="ghost"
              aria-expanded={unfolded}
              onClick={() => setUnfolded(!unfolded)}
            >
              {t(unfolded ? "task.hideEvidence" : "task.showEvidence")}
            </Button>
          ),
        }
      : { evidence };

  const take = async (offer: Offer, field: string | null): Promise<boolean> => {
    const fields = field === null ? {} : { [offer.fields[0] ?? "reason"]: field };
    const done = await action.run("task_action", {
      task_id: task.id,
      verb: offer.verb,
      version: task.version,
      wait: "none",
      ...fields,
    });
    return done !== null;
  };

  switch (need.kind) {
    case "trouble": {
      const { annotation } = need;
      return (
        <Banner
          tone="danger"
          title={t(`task.trouble.${annotation.type}`)}
          {...folds(
            annotation.evidence && !saysNothing(annotation.evidence) && (
              <EvidenceBlock task={task} evidence={annotation.evidence} />
            ),
          )}
          actions={offers.length > 0 && <Offers offers={offers} action={action} onTake={take} />}
        >
          {annotation.message}
        </Banner>
      );
    }
    case "review": {
      const gate = stateOf(workflow, task.status)?.gate_config;
      const decide = async (offer: Offer, field: string | null): Promise<boolean> => {
        const op = offer.verb === "approve" ? "review_approve" : "review_reject";
        const done = await action.run(op, {
          task_id: task.id,
          wait: "none",
          ...(field === null ? {} : { reason: field }),
        });
        return done !== null;
      };
      const choices: Offer[] = [
        {
          verb: "approve",
          label: gate?.approve_label ?? t("review.approve"),
          fields: [],
          why: t("review.approveWhy"),
        },
        {
          verb: "send_back",
          label: gate?.reject_label ?? t("review.reject"),
          fields: ["reason"],
          why: t("review.rejectWhy"),
        },
      ];
      return (
        <Banner
          tone="warning"
          title={t("review.awaits")}
          actions={<Offers offers={choices} action={action} onTake={decide} />}
        >
          {t("review.awaitsText")}
        </Banner>
      );
    }
    case "waiting": {
      const { waiting } = need;
      return (
        <Banner
          tone="warning"
          title={t(`task.waits.${waiting.reason}`)}
          {...folds(waiting.files.length > 0 && <Files files={waiting.files} />)}
          actions={offers.length > 0 && <Offers offers={offers} action={action} onTake={take} />}
        >
          {waiting.message}
          {waiting.reason === "target_checkout_dirty" && ` ${t("task.goesOn")}`}
        </Banner>
      );
    }
  }
}
