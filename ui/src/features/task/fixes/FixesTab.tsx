/** What was drafted to mend the task's failed checks: those that wait first to be seen, and all that was before. */
import { LoaderCircle, Wrench } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { FixDraft, Task } from "#ui/api/generated.ts";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { useAgentNames } from "../useAgentNames.ts";
import { FixCard } from "./FixCard.tsx";
import { entriesOf } from "./fixes.ts";
import styles from "./Fixes.module.css";

function Draft({ draft, name }: { draft: FixDraft; name: string }) {
  const { t } = useTranslation();
  const { file } = draft;
  return (
    <li className={styles.draft} data-status={draft.status}>
      {draft.status === "drafting" && <LoaderCircle aria-hidden />}
      <span className={styles.what}>
        {draft.status === "drafting"
          ? t("fixes.drafting", { name, file })
          : t("fixes.dropped", { name, file, reason: draft.reason ?? "" })}
      </span>
      <RelativeTime at={draft.startedAt} />
    </li>
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
  const entries = entriesOf(fixes.data);
  if (entries.length === 0) {
    return (
      <EmptyState icon={<Wrench />} title={t("fixes.none")}>
        {t("fixes.noneText")}
      </EmptyState>
    );
  }
  return (
    <ol className={styles.fixes} aria-label={t("fixes.list")}>
      {entries.map((entry) =>
        entry.type === "fix" ? (
          <FixCard key={entry.key} fix={entry.fix} agents={agents} />
        ) : (
          <Draft
            key={entry.key}
            draft={entry.draft}
            name={agents.get(entry.draft.agentId) ?? t("task.actor.agentGone")}
          />
        ),
      )}
    </ol>
  );
}
