/** One drafted fix: what it mends, its patch, where it is, and what can be done with it. */
import { CircleCheck, CircleSlash, FilePen, History, LoaderCircle, Undo2 } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { FixProposal, FixStatus } from "#ui/api/generated.ts";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { DiffCount } from "#ui/components/DiffCount.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { ActionError } from "../ActionError.tsx";
import { actorText } from "../actor.ts";
import { PlainDiff } from "../diff/PlainDiff.tsx";
import type { Commenting } from "../diff/view.ts";
import { LogDialog } from "../LogDialog.tsx";
import { money } from "../numbers.ts";
import { useAction } from "../useAction.ts";
import { canApply, canRollBack, rowsOf } from "./fixes.ts";
import styles from "./Fixes.module.css";

const looks: Readonly<Record<FixStatus, { readonly tone: Tone; readonly icon: ReactNode }>> = {
  drafted: { tone: "warning", icon: <FilePen /> },
  applied: { tone: "accent", icon: <LoaderCircle /> },
  verified: { tone: "success", icon: <CircleCheck /> },
  rolled_back: { tone: "neutral", icon: <Undo2 /> },
  rejected: { tone: "neutral", icon: <CircleSlash /> },
  superseded: { tone: "neutral", icon: <History /> },
};

const none: Commenting = {
  anchors: [],
  top: null,
  cursor: null,
  onCursor: () => {},
  onComment: undefined,
  onKeyDown: () => {},
  arrival: null,
  onArrived: () => {},
};

export interface FixCardProps {
  readonly fix: FixProposal;
  readonly agents: ReadonlyMap<string, string>;
}

function Patch({ fix, label }: { fix: FixProposal; label: string }) {
  const rows = useMemo(() => rowsOf(fix.patch), [fix.patch]);
  const columns = Math.max(
    0,
    ...rows.map((row) => (row.type === "line" ? row.line.text.length : row.header.length)),
  );
  return (
    <div className={styles.patch} style={{ height: Math.min(rows.length * 20 + 2, 360) }}>
      <PlainDiff
        rows={rows}
        columns={columns}
        label={label}
        commenting={none}
        onEndReached={undefined}
        handle={null}
      />
    </div>
  );
}

function Facts({ fix, agents }: FixCardProps) {
  const { t } = useTranslation();
  const { author, costMicroUsd: cost, appliedCommit: commit, decidedBy } = fix;
  const agent = agents.get(author.agent) ?? t("task.actor.agentGone");
  return (
    <p className={styles.facts}>
      <span>{t("fixes.by", { name: agent })}</span>
      {author.model && <span>{author.model}</span>}
      <span>{cost === null ? t("fixes.costUnknown") : money(cost)}</span>
      {decidedBy && <span>{t("fixes.decidedBy", { name: actorText(decidedBy, agents, t) })}</span>}
      {commit && (
        <span className={styles.commit}>
          <code>{commit.slice(0, 8)}</code>
          <CopyButton
            text={commit}
            label={t("merges.copyCommit", { commit: commit.slice(0, 8) })}
          />
        </span>
      )}
    </p>
  );
}

export function FixCard({ fix, agents }: FixCardProps) {
  const { t } = useTranslation();
  const action = useAction();
  const [log, setLog] = useState<string | null>(null);
  const { status, gate, verification } = fix;
  const [chosen, setOpen] = useState<boolean | null>(null);
  const open = chosen ?? (status === "drafted" || status === "applied");
  const file = fix.files.join(", ");
  const title = t("fixes.title", { file });
  const { tone, icon } = looks[status];
  const path = { task_id: fix.taskId, fix_id: fix.fixId };
  const busy = action.busy !== null;
  return (
    <li>
      <section className={styles.fix} aria-label={title} data-status={status}>
        <header className={styles.head}>
          <h3>{title}</h3>
          <Badge tone={tone} icon={icon}>
            {t(`fixes.status.${status}`)}
          </Badge>
          <span className={styles.aside}>
            <DiffCount added={fix.addedLines} removed={fix.removedLines} />
            <RelativeTime at={fix.createdAt} />
          </span>
        </header>
        <p className={styles.why}>
          {t("fixes.failed")} <code data-selectable>{gate.command}</code>
          {gate.exitCode !== null && (
            <Badge tone="danger">{t("conversation.exit", { code: gate.exitCode })}</Badge>
          )}
        </p>
        {fix.reason && <p className={styles.why}>{t("fixes.reason", { reason: fix.reason })}</p>}
        {open && <Patch fix={fix} label={t("diff.changesIn", { path: file })} />}
        <Facts fix={fix} agents={agents} />
        <ActionError title={t("fixes.refused")} error={action.error} onDismiss={action.dismiss} />
        <div className={styles.buttons}>
          {canApply(status) && (
            <>
              <Button
                size="sm"
                variant="primary"
                busy={action.busy === "fix_apply"}
                disabled={busy}
                aria-label={t("fixes.applyOf", { file })}
                onClick={() => void action.run("fix_apply", path)}
              >
                {t("fixes.apply")}
              </Button>
              <Button
                size="sm"
                busy={action.busy === "fix_reject"}
                disabled={busy}
                aria-label={t("fixes.rejectOf", { file })}
                onClick={() => void action.run("fix_reject", path)}
              >
                {t("fixes.reject")}
              </Button>
            </>
          )}
          {canRollBack(status) && (
            <Button
              size="sm"
              busy={action.busy === "fix_rollback"}
              disabled={busy}
              aria-label={t("fixes.rollbackOf", { file })}
              onClick={() => void action.run("fix_rollback", path)}
            >
              {t("fixes.rollback")}
            </Button>
          )}
          <Button
            size="sm"
            variant="ghost"
            aria-expanded={open}
            aria-label={t(open ? "fixes.hideOf" : "fixes.showOf", { file })}
            onClick={() => setOpen(!open)}
          >
            {t(open ? "fixes.hide" : "fixes.show")}
          </Button>
          {verification && (
            <Button size="sm" variant="ghost" onClick={() => setLog(verification.logId)}>
              {t("fixes.output")}
            </Button>
          )}
        </div>
      </section>
      <LogDialog
        taskId={fix.taskId}
        logId={log}
        title={gate.command}
        onClose={() => setLog(null)}
      />
    </li>
  );
}
