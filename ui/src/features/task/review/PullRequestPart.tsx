/** A task's pull request: where it is, what was checked and said there, and what the agent is told of it. */
import { CloudOff, ExternalLink, GitPullRequest, RefreshCw } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { PullRequestState, Task, TaskPullRequest } from "#ui/api/generated.ts";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { formatRoute } from "#ui/app/router.ts";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Countdown } from "#ui/components/Elapsed.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { ActionError } from "../ActionError.tsx";
import { useAction, type Action } from "../useAction.ts";
import { Commit } from "./MergeState.tsx";
import { PullRequestNews } from "./PullRequestNews.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./PullRequest.module.css";

const tones: Readonly<Record<PullRequestState, Tone>> = {
  open: "accent",
  merged: "success",
  closed: "danger",
};

function Asked({ found }: { found: TaskPullRequest }) {
  const { t } = useTranslation();
  const { checked_at: checked, next_check_at: next } = found;
  return (
    <p className={styles.asked}>
      {checked === null ? (
        t("pullRequest.neverAsked")
      ) : (
        <span>
          {t("pullRequest.asked")} <RelativeTime at={checked} />
        </span>
      )}
      {next !== null && (
        <span>
          {t("pullRequest.asksAgain")} <Countdown until={next} />
        </span>
      )}
    </p>
  );
}

function Trouble({
  task,
  trouble,
  remedy,
}: {
  task: Task;
  trouble: string;
  remedy: string | null;
}) {
  const { t } = useTranslation();
  const settings = (
    <a
      className={styles.link}
      href={formatRoute("projectSettings", { project: task.project_id }, { tab: "pullRequests" })}
    >
      {t("pullRequest.toSettings")}
    </a>
  );
  // What stops the task is said by the task's banner, with what can be done about it.
  const above = task.error_annotation?.message.includes(trouble) ? task.error_annotation : null;
  const told = above?.message ?? trouble;
  if (above !== null && (remedy === null || told.includes(remedy))) {
    return <p className={layout.faint}>{settings}</p>;
  }
  return (
    <Banner tone="warning" icon={<CloudOff />} title={t("pullRequest.trouble")} actions={settings}>
      {above === null && <p>{trouble}</p>}
      {/* Some errors say themselves what to do. */}
      {remedy !== null && !told.includes(remedy) && (
        <p className={styles.remedy}>
          <strong>{t("pullRequest.remedy")}</strong> {remedy}
        </p>
      )}
    </Banner>
  );
}

function Head({ task, found, action }: { task: Task; found: TaskPullRequest; action: Action }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const pull = found.pull_request;
  const { busy, run } = action;
  const ask = useCallback(
    () => void run("pull_request_refresh", { task_id: task.id }),
    [run, task.id],
  );
  const commands = useMemo<Command[]>(
    () => [
      {
        id: "pullRequest.refresh",
        label: t("pullRequest.refreshCommand"),
        group: t("nav.task"),
        keys: ["r"],
        enabled: busy === null,
        run: ask,
      },
    ],
    [t, busy, ask],
  );
  useCommands(commands);
  return (
    <header className={styles.head}>
      <GitPullRequest aria-hidden />
      <h3>{pull ? t("pullRequest.number", { number: pull.number }) : t("pullRequest.title")}</h3>
      {pull && (
        <Badge tone={tones[pull.state]}>
          {pull.draft && pull.state === "open"
            ? t("pullRequest.draft")
            : t(`pullRequest.state.${pull.state}`)}
        </Badge>
      )}
      {pull?.state === "open" && pull.mergeable === "no" && (
        <Badge tone="warning">{t("pullRequest.notMergeable")}</Badge>
      )}
      <span className={styles.buttons}>
        {pull && (
          <Button
            size="sm"
            icon={<ExternalLink />}
            onClick={() => void platform.openExternal(pull.url)}
          >
            {t("pullRequest.open")}
          </Button>
        )}
        <Button
          size="sm"
          icon={<RefreshCw />}
          keys="r"
          busy={busy === "pull_request_refresh"}
          onClick={ask}
        >
          {t("pullRequest.refresh")}
        </Button>
      </span>
    </header>
  );
}

export function PullRequestPart({ task }: { task: Task }) {
  const { t } = useTranslation();
  const action = useAction();
  const [sent, setSent] = useState(0);
  const answer = useOp("task_pull_request", { task_id: task.id });
  if (answer.error) {
    return (
      <ErrorState
        title={t("pullRequest.failed")}
        error={answer.error}
        onRetry={() => void answer.refetch()}
      />
    );
  }
  const found = answer.data?.pull_request;
  if (!found) return null;
  const pull = found.pull_request;
  return (
    <Stack as="section" gap={3} aria-label={t("pullRequest.title")}>
      <Head task={task} found={found} action={action} />
      <ActionError
        title={t("pullRequest.refreshFailed")}
        error={action.error}
        onDismiss={action.dismiss}
      />
      {pull && <p className={styles.title}>{pull.title}</p>}
      <div className={styles.where}>
        <span>
          {found.host.owner}/{found.host.repo}
        </span>
        <span>
          <code>{found.head}</code>
          {pull && (
            <>
              {" → "}
              <code>{pull.base}</code>
            </>
          )}
        </span>
        {found.pushed_commit && (
          <span className={styles.pushed}>
            {t("pullRequest.pushed")} <Commit commit={found.pushed_commit} />
          </span>
        )}
        <Asked found={found} />
      </div>
      {found.trouble && <Trouble task={task} trouble={found.trouble} remedy={found.remedy} />}
      {pull ? (
        // What was chosen is sent: the next choice begins with nothing.
        <PullRequestNews
          key={sent}
          task={task}
          found={found}
          pull={pull}
          onSent={() => setSent(sent + 1)}
        />
      ) : (
        !found.trouble && <p className={layout.faint}>{t("pullRequest.beingMade")}</p>
      )}
    </Stack>
  );
}
