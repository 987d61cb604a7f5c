/** What a drafted fix mends and changes, who drafted it, what became of it, and what can be done with it. */
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { FixProposal } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { Said } from "#ui/components/Said.tsx";
import { duration } from "#ui/components/time.ts";
import { ActionError } from "../ActionError.tsx";
import { actorText } from "../actor.ts";
import { heightOfRows, PlainDiff } from "../diff/PlainDiff.tsx";
import { LogDialog } from "../LogDialog.tsx";
import { milliseconds, money } from "../numbers.ts";
import type { Decision } from "./useDecision.ts";
import { canApply, canRollBack, rowsOf } from "./fixes.ts";
import { useRows } from "#ui/components/rows.ts";
import { Row } from "#ui/components/Row.tsx";
import styles from "./Fixes.module.css";

/** As high as its lines, up to what leaves the rest of the tab in sight. */
const highest = 360;

function Patch({ patch, label }: { patch: string; label: string }) {
  const rows = useMemo(() => rowsOf(patch), [patch]);
  const columns = Math.max(
    0,
    ...rows.map((row) => (row.type === "line" ? row.line.text.length : row.header.length)),
  );
  const height = Math.min(heightOfRows(rows, useRows()) + 2, highest);
  return (
    <div className={styles.patch} style={{ height }}>
      <PlainDiff rows={rows} columns={columns} label={label} />
    </div>
  );
}

interface AgentsProps {
  readonly fix: FixProposal;
  readonly agents: ReadonlyMap<string, string>;
}

function Facts({ fix, agents }: AgentsProps) {
  const { t } = useTranslation();
  const { author, costMicroUsd: cost, appliedCommit: commit, decidedBy, wantedBy } = fix;
  const agent = agents.get(author.agent) ?? t("task.actor.agentGone");
  return (
    <p className={styles.facts}>
      <span>{t("fixes.by", { name: agent })}</span>
      {author.model && <span>{author.model}</span>}
      <span>{cost === null ? t("fixes.costUnknown") : money(cost)}</span>
      {decidedBy && <span>{t("fixes.decidedBy", { name: actorText(decidedBy, agents, t) })}</span>}
      {wantedBy && <span>{t("fixes.wantedBy", { name: actorText(wantedBy, agents, t) })}</span>}
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

/** The check that failed, and with the fix in the work the same one again. */
function Gate({ fix: { gate, status, verification } }: { fix: FixProposal }) {
  const { t } = useTranslation();
  return (
    <p className={styles.gate}>
      <span>{t("fixes.failed")}</span>
      <code data-selectable>{gate.command}</code>
      {gate.exitCode !== null && (
        <Badge tone="danger">{t("conversation.exit", { code: gate.exitCode })}</Badge>
      )}
      {status === "applied" && !verification && <span>{t("fixes.checking")}</span>}
      {verification && (
        <>
          <span>{t("fixes.withIt")}</span>
          <Badge tone={verification.passed ? "success" : "danger"}>
            {verification.timedOut
              ? t("fixes.timedOut")
              : t(verification.passed ? "fixes.passes" : "fixes.stillFails")}
          </Badge>
          {verification.durationMs !== null && (
            <span className={styles.took}>
              {milliseconds(verification.durationMs) ?? duration(verification.durationMs)}
            </span>
          )}
        </>
      )}
    </p>
  );
}

function Buttons({ fix, decision }: { fix: FixProposal; decision: Decision }) {
  const { t } = useTranslation();
  const [log, setLog] = useState<string | null>(null);
  const file = fix.files.join(", ");
  const { status, verification, gate } = fix;
  const { busy, apply, reject, rollBack } = decision;
  if (!canApply(status) && !canRollBack(status) && !verification) return null;
  return (
    <Row wrap gap={2}>
      {canApply(status) && (
        <>
          <Button
            size="sm"
            variant="primary"
            busy={busy === "fix_apply"}
            disabled={busy !== null}
            aria-label={t("fixes.applyOf", { file })}
            onClick={apply}
          >
            {t("fixes.apply")}
          </Button>
          <Button
            size="sm"
            busy={busy === "fix_reject"}
            disabled={busy !== null}
            aria-label={t("fixes.rejectOf", { file })}
            onClick={reject}
          >
            {t("fixes.reject")}
          </Button>
        </>
      )}
      {canRollBack(status) && (
        <Button
          size="sm"
          busy={busy === "fix_rollback"}
          disabled={busy !== null}
          aria-label={t("fixes.rollbackOf", { file })}
          onClick={rollBack}
        >
          {t("fixes.rollback")}
        </Button>
      )}
      {verification && (
        <Button
          size="sm"
          variant="ghost"
          aria-label={t("fixes.outputOf", { file })}
          onClick={() => setLog(verification.logId)}
        >
          {t("fixes.output")}
        </Button>
      )}
      <LogDialog
        taskId={fix.taskId}
        logId={log}
        title={gate.command}
        onClose={() => setLog(null)}
      />
    </Row>
  );
}

export function FixBody({ fix, agents, decision }: AgentsProps & { decision: Decision }) {
  const { t } = useTranslation();
  return (
    <>
      <Gate fix={fix} />
      {fix.reason && (
        <p className={styles.why}>
          <Said text={t("fixes.reason", { reason: fix.reason })} />
        </p>
      )}
      <Patch patch={fix.patch} label={t("diff.changesIn", { path: fix.files.join(", ") })} />
      <Facts fix={fix} agents={agents} />
      <ActionError title={t("fixes.refused")} error={decision.error} onDismiss={decision.dismiss} />
      <Buttons fix={fix} decision={decision} />
    </>
  );
}
