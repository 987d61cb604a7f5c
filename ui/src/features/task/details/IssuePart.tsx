/** The issue that the task was imported from: where it is, what was said there, and where its text differs. */
import { ChevronRight, ExternalLink, Globe } from "lucide-react";
import { useRef } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { IssueChoice, IssueComment, IssueLink, PendingText, Task } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Markdown } from "#ui/components/Markdown.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { Row } from "#ui/components/Row.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import { issueIcons } from "#ui/domain/issues/icons.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { ActionError } from "../ActionError.tsx";
import { useAction } from "../useAction.ts";
import { Unsent } from "./Unsent.tsx";
import details from "./Details.module.css";
import styles from "./Issue.module.css";

function Name({ issue }: { issue: IssueLink }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const { kind, name, url } = issue;
  return (
    <div className={styles.name}>
      {issueIcons[kind]}
      <bdi>{name}</bdi>
      {url !== null && (
        <IconButton
          size="sm"
          label={t("taskIssue.open", { name })}
          icon={<ExternalLink />}
          onClick={() => void platform.openExternal(url)}
        />
      )}
    </div>
  );
}

function Comments({ comments }: { comments: readonly IssueComment[] }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  if (comments.length === 0) return null;
  return (
    <details className={styles.comments}>
      <summary className={styles.summary}>
        <ChevronRight aria-hidden />
        {t("taskIssue.comments", { count: comments.length })}
      </summary>
      <ol>
        {comments.map(({ author, body, url, at }, index) => (
          <li key={url ?? index} className={styles.comment}>
            <div className={styles.said}>
              <bdi className={styles.author}>{author}</bdi>
              {at !== null && <RelativeTime at={at} />}
              {url !== null && (
                <IconButton
                  size="sm"
                  label={t("taskIssue.openComment", { author })}
                  icon={<ExternalLink />}
                  onClick={() => void platform.openExternal(url)}
                />
              )}
            </div>
            <Markdown source={body} onLink={(href) => void platform.openExternal(href)} />
          </li>
        ))}
      </ol>
    </details>
  );
}

interface SideProps {
  readonly name: string;
  /** Null where both say the same. */
  readonly title: string | null;
  readonly description: string | null;
  readonly choice: string;
  readonly busy: boolean;
  readonly onChoose: () => void;
}

function Side({ name, title, description, choice, busy, onChoose }: SideProps) {
  const { t } = useTranslation();
  const platform = usePlatform();
  return (
    <section className={styles.side} aria-label={name}>
      <h4 className={styles.whose}>{name}</h4>
      {title !== null && (
        <p dir="auto" className={styles.title}>
          {title}
        </p>
      )}
      {description !== null &&
        (description.trim() === "" ? (
          <p className={layout.faint}>{t("taskIssue.noDescription")}</p>
        ) : (
          <Markdown source={description} onLink={(href) => void platform.openExternal(href)} />
        ))}
      <div className={styles.choose}>
        <Button size="sm" busy={busy} onClick={onChoose}>
          {choice}
        </Button>
      </div>
    </section>
  );
}

function Difference({
  task,
  pending,
  onSettled,
}: {
  task: Task;
  pending: PendingText;
  onSettled: () => void;
}) {
  const { t } = useTranslation();
  const action = useAction();
  const { title, description } = pending;
  const keep = async (whose: IssueChoice) => {
    if (action.busy) return;
    const done = await action.runUnless("nothing_to_resolve", "task_issue_resolve", {
      task_id: task.id,
      keep: whose,
      version: task.version,
    });
    if (done) onSettled();
  };
  const busy = action.busy !== null;
  return (
    <Stack gap={2}>
      <p className={styles.differs}>{t("taskIssue.differsText")}</p>
      <div className={styles.sides}>
        <Side
          name={t("taskIssue.issueText")}
          title={title}
          description={description}
          choice={t("taskIssue.useIssue")}
          busy={busy}
          onChoose={() => void keep("issue")}
        />
        <Side
          name={t("taskIssue.taskText")}
          title={title === null ? null : task.title}
          description={description === null ? null : task.description}
          choice={t("taskIssue.keepTask")}
          busy={busy}
          onChoose={() => void keep("task")}
        />
      </div>
      <ActionError
        title={t("taskIssue.notSettled")}
        error={action.error}
        onDismiss={action.dismiss}
      />
    </Stack>
  );
}

export function IssuePart({ task, issue }: { task: Task; issue: IssueLink }) {
  const { t } = useTranslation();
  const read = useOp("task_issue", { task_id: task.id });
  const heading = useRef<HTMLHeadingElement>(null);
  const found = read.data?.issue;
  return (
    <Stack gap={2}>
      <h3 ref={heading} className={details.heading} tabIndex={-1}>
        {t("taskIssue.title")}
        <Badge look="outline">{t(`taskIssue.state.${issue.state}`)}</Badge>
      </h3>
      <Name issue={issue} />
      {issue.is_public && (
        <p className={styles.public}>
          <Globe aria-hidden />
          {t("taskIssue.public")}
        </p>
      )}
      {read.error ? (
        <ErrorState
          title={t("taskIssue.failed")}
          error={read.error}
          onRetry={() => void read.refetch()}
        />
      ) : read.isPending ? (
        <SkeletonText lines={2} />
      ) : (
        found && (
          <>
            {found.labels.length > 0 && (
              <Row as="ul" wrap gap={2} aria-label={t("taskIssue.labels")}>
                {found.labels.map((label) => (
                  <li key={label}>
                    <Badge look="outline">{label}</Badge>
                  </li>
                ))}
              </Row>
            )}
            {found.pending && (
              <Difference
                task={task}
                pending={found.pending}
                // The buttons go, and what has the focus with them.
                onSettled={() => heading.current?.focus()}
              />
            )}
            <Unsent
              task={task}
              unsent={found.unsent}
              onRetried={() => void read.refetch()}
              onLeave={() => heading.current?.focus()}
            />
            <Comments comments={found.comments} />
            <p className={layout.note}>
              {t("taskIssue.imported")} <RelativeTime at={found.imported_at} />
            </p>
          </>
        )
      )}
    </Stack>
  );
}
