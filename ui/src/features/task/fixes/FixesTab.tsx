/** What was drafted to mend the task's failed checks: what matters now in full, all that was before as lines. */
import { CircleDashed, LoaderCircle, Wrench } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { FixDraft, Task } from "#ui/api/generated.ts";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { Said } from "#ui/components/Said.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { useAgentNames } from "../useAgentNames.ts";
import { FixCard, FixLine } from "./FixCard.tsx";
import { canApply, listed, type Entry } from "./fixes.ts";
import { cx } from "#ui/components/cx.ts";
import { Stack } from "#ui/components/Stack.tsx";
import parts from "../TabParts.module.css";
import styles from "./Fixes.module.css";

type Names = ReadonlyMap<string, string>;

/** A draft that is under way, or came to nothing. */
function Draft({ draft, agents }: { draft: FixDraft; agents: Names }) {
  const { t } = useTranslation();
  const { file, status, reason } = draft;
  const name = agents.get(draft.agentId) ?? t("task.actor.agentGone");
  const isUnderWay = status === "drafting";
  return (
    <p className={styles.draft} data-status={status}>
      {isUnderWay ? <LoaderCircle aria-hidden /> : <CircleDashed aria-hidden />}
      <span className={styles.what}>
        {isUnderWay ? (
          t("fixes.drafting", { name, file })
        ) : (
          <Said text={t("fixes.dropped", { name, file, reason: reason ?? t("fixes.noReason") })} />
        )}
      </span>
      <RelativeTime at={draft.startedAt} />
    </p>
  );
}

/** What became of the newest one is said aloud: it changes while somebody waits for it. */
function Latest({ entry }: { entry: Entry | undefined }) {
  const { t } = useTranslation();
  return (
    <p className="visually-hidden" role="status">
      {entry?.type === "fix" &&
        t("fixes.latest", {
          file: entry.fix.files.join(", "),
          status: t(`fixes.status.${entry.fix.status}`),
        })}
    </p>
  );
}

export function FixesTab({ task }: { task: Task }) {
  const { t } = useTranslation();
  const agents = useAgentNames();
  const fixes = useOp("fix_list", { task_id: task.id });
  if (fixes.error && !fixes.data) {
    return (
      <ErrorState
        title={t("fixes.readFailed")}
        error={fixes.error}
        onRetry={() => void fixes.refetch()}
      />
    );
  }
  if (!fixes.data) {
    return (
      <div className={styles.fixes} aria-busy>
        <SkeletonText lines={4} />
      </div>
    );
  }
  const { now, earlier } = listed(fixes.data);
  if (now.length === 0) {
    return (
      <EmptyState icon={<Wrench />} title={t("fixes.none")}>
        {t("fixes.noneText")}
      </EmptyState>
    );
  }
  const keyed = now.find((entry) => entry.type === "fix" && canApply(entry.fix.status))?.key;
  return (
    <div className={styles.fixes}>
      <Latest entry={now[0]} />
      <Stack as="ol" gap={6} aria-label={t("fixes.list")}>
        {now.map((entry) => (
          <li key={entry.key}>
            {entry.type === "fix" ? (
              <FixCard fix={entry.fix} agents={agents} keyed={entry.key === keyed} />
            ) : (
              <Draft draft={entry.draft} agents={agents} />
            )}
          </li>
        ))}
      </Stack>
      {earlier.length > 0 && (
        <section className={parts.earlier} aria-labelledby="fixes-earlier">
          <h3 id="fixes-earlier">{t("fixes.earlier")}</h3>
          <ol className={cx(parts.lines, styles.lines)}>
            {earlier.map((entry) => (
              <li key={entry.key}>
                {entry.type === "fix" ? (
                  <FixLine fix={entry.fix} agents={agents} />
                ) : (
                  <Draft draft={entry.draft} agents={agents} />
                )}
              </li>
            ))}
          </ol>
        </section>
      )}
    </div>
  );
}
