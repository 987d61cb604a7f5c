/** Where the task stands between work and target, in a badge of its header. */
import { CircleDashed, CircleX, GitPullRequest, Hand, Scale } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { PullRequestLink, Task, Workflow } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { showTab } from "../go.ts";
import { isClosed } from "#ui/domain/steps.ts";
import { useAgentNames } from "../useAgentNames.ts";
import { standOf, type Stand } from "./stand.ts";
import styles from "./ReviewBadges.module.css";

function StandBadge({ task, stand }: { task: Task; stand: Stand }) {
  const { t } = useTranslation();
  const agents = useAgentNames();
  switch (stand) {
    case "auditing": {
      const name = agents.get(task.live?.agent_id ?? "") ?? t("roleBadge.auditor");
      return (
        <Badge tone="review" icon={<Scale />}>
          {t("roleBadge.auditing", { name })}
        </Badge>
      );
    }
    case "checks":
      return (
        <Badge tone="review" icon={<CircleDashed />}>
          {t("roleBadge.checks")}
        </Badge>
      );
    case "awaits":
      return (
        <Badge tone="warning" icon={<Hand />}>
          {t("roleBadge.awaits")}
        </Badge>
      );
    case "rejected":
      return (
        <Badge tone="danger" icon={<CircleX />}>
          {t("roleBadge.rejected")}
        </Badge>
      );
  }
}

function PullLink({ pull }: { pull: PullRequestLink }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  return (
    <button
      type="button"
      className={styles.pull}
      aria-label={t("roleBadge.openPull", { number: pull.number })}
      onClick={() => void platform.openExternal(pull.url)}
    >
      <GitPullRequest aria-hidden />#{pull.number}
    </button>
  );
}

export function ReviewBadges({ task, workflow }: { task: Task; workflow: Workflow | undefined }) {
  const { t } = useTranslation();
  const stand = isClosed(task, workflow) ? null : standOf(task);
  return (
    <>
      {stand !== null && (
        <button
          type="button"
          className={styles.stand}
          title={t("task.showTab", { tab: t("task.tab.review") })}
          onClick={() => showTab("review")}
        >
          <StandBadge task={task} stand={stand} />
        </button>
      )}
      {task.pull_request && <PullLink pull={task.pull_request} />}
    </>
  );
}
