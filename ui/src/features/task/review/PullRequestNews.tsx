/** What the host tells of a pull request; what is chosen of it goes to the agent. */
import {
  CircleCheck,
  CircleDashed,
  CircleSlash,
  CircleX,
  ExternalLink,
  EyeOff,
  Send,
} from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type {
  HostCheck,
  HostCheckStatus,
  HostComment,
  PullRequest,
  Task,
  TaskPullRequest,
} from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Markdown } from "#ui/components/Markdown.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { TextArea } from "#ui/components/TextField.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { ActionError } from "../ActionError.tsx";
import { useDiffHref } from "../diffPlace.ts";
import { useAction } from "../useAction.ts";
import { placeText } from "./audit.ts";
import {
  canBeSent,
  countOf,
  nothingChosen,
  stillThere,
  toNews,
  toggled,
  whatIsNew,
  type Chosen,
} from "./pullRequest.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./PullRequest.module.css";

const marks: Readonly<Record<HostCheckStatus, ReactNode>> = {
  pending: <CircleDashed />,
  passed: <CircleCheck />,
  failed: <CircleX />,
  skipped: <CircleSlash />,
};

interface Choice {
  readonly chosen: boolean;
  readonly onChoose: (chosen: boolean) => void;
}

function OpenAtHost({ url, label }: { url: string | null; label: string }) {
  const platform = usePlatform();
  if (url === null) return null;
  return (
    <IconButton
      size="sm"
      label={label}
      icon={<ExternalLink />}
      onClick={() => void platform.openExternal(url)}
    />
  );
}

function Check({ check, chosen, onChoose }: { check: HostCheck } & Choice) {
  const { t } = useTranslation();
  return (
    <li className={styles.check} data-status={check.status}>
      <span className={styles.pick}>
        {canBeSent(check) && (
          <Checkbox
            hideLabel
            label={t("pullRequest.chooseCheck", { name: check.name })}
            checked={chosen}
            onChange={onChoose}
          />
        )}
      </span>
      <span className={styles.mark} role="img" aria-label={t(`pullRequest.check.${check.status}`)}>
        {marks[check.status]}
      </span>
      <span className={layout.anywhere}>{check.name}</span>
      {check.summary && <span className={layout.faint}>{check.summary}</span>}
      <span className={styles.end}>
        <OpenAtHost url={check.url} label={t("pullRequest.openCheck", { name: check.name })} />
      </span>
    </li>
  );
}

function Comment({
  comment,
  told,
  chosen,
  onChoose,
}: { comment: HostComment; told: boolean } & Choice) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const href = useDiffHref();
  const { path } = comment;
  return (
    <li className={styles.comment}>
      <div className={styles.said}>
        <span className={styles.pick}>
          <Checkbox
            hideLabel
            label={t("pullRequest.chooseComment", { author: comment.author })}
            checked={chosen}
            onChange={onChoose}
          />
        </span>
        <span className={styles.author}>{comment.author}</span>
        {comment.verdict && (
          <Badge tone={comment.verdict === "approved" ? "success" : "warning"}>
            {t(`pullRequest.verdict.${comment.verdict}`)}
          </Badge>
        )}
        {path !== null && (
          <a className={styles.place} href={href({ file: path, line: comment.line })}>
            <code>{placeText({ file: path, line: comment.line })}</code>
          </a>
        )}
        {told && <Badge look="outline">{t("pullRequest.told")}</Badge>}
        <span className={styles.end}>
          <RelativeTime at={comment.at} />
          <OpenAtHost
            url={comment.url}
            label={t("pullRequest.openComment", { author: comment.author })}
          />
        </span>
      </div>
      {comment.body.trim() !== "" && (
        <div className={styles.body}>
          <Markdown source={comment.body} onLink={(href) => void platform.openExternal(href)} />
        </div>
      )}
    </li>
  );
}

function SendForm({ task, chosen, onSent }: { task: Task; chosen: Chosen; onSent: () => void }) {
  const { t } = useTranslation();
  const action = useAction();
  const [message, setMessage] = useState("");
  const count = countOf(chosen);
  const send = async () => {
    const done = await action.run("pull_request_send", toNews(task.id, chosen, message));
    if (!done) return;
    showToast({ tone: "success", title: t("pullRequest.sent") });
    onSent();
  };
  return (
    <Stack
      as="form"
      gap={3}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <TextArea
        label={t("pullRequest.message")}
        hint={t("pullRequest.messageHint")}
        rows={2}
        value={message}
        onChange={setMessage}
      />
      <ActionError
        title={t("pullRequest.sendFailed")}
        error={action.error}
        onDismiss={action.dismiss}
      />
      <div>
        <Button
          type="submit"
          size="sm"
          variant="primary"
          icon={<Send />}
          busy={action.busy === "pull_request_send"}
        >
          {t("pullRequest.send", { count })}
        </Button>
      </div>
    </Stack>
  );
}

export interface PullRequestNewsProps {
  readonly task: Task;
  readonly found: TaskPullRequest;
  readonly pull: PullRequest;
  readonly onSent: () => void;
}

export function PullRequestNews({ task, found, pull, onSent }: PullRequestNewsProps) {
  const { t } = useTranslation();
  const [wished, setChosen] = useState(nothingChosen);
  const chosen = stillThere(wished, pull);
  const fresh = whatIsNew(found);
  const open = pull.state === "open";
  return (
    <>
      {pull.unread.length > 0 && (
        <ul className={styles.unread} aria-label={t("pullRequest.unread")}>
          {pull.unread.map(({ what, why }) => (
            <li key={what}>
              <EyeOff aria-hidden />
              {t("pullRequest.notRead", { what, why })}
            </li>
          ))}
        </ul>
      )}
      {pull.checks.length > 0 && (
        <ul className={styles.list} aria-label={t("pullRequest.checks")}>
          {pull.checks.map((check) => (
            <Check
              key={check.name}
              check={check}
              chosen={chosen.checks.has(check.name)}
              onChoose={(on) =>
                setChosen({ ...chosen, checks: toggled(chosen.checks, check.name, on) })
              }
            />
          ))}
        </ul>
      )}
      {pull.comments.length === 0 ? (
        <p className={layout.faint}>{t("pullRequest.noComments")}</p>
      ) : (
        <ul className={styles.list} aria-label={t("pullRequest.comments")}>
          {pull.comments.map((comment) => (
            <Comment
              key={comment.id}
              comment={comment}
              told={found.told.includes(comment.id)}
              chosen={chosen.comments.has(comment.id)}
              onChoose={(on) =>
                setChosen({ ...chosen, comments: toggled(chosen.comments, comment.id, on) })
              }
            />
          ))}
        </ul>
      )}
      {open && countOf(fresh) > 0 && countOf(chosen) < countOf(fresh) && (
        <div>
          <Button size="sm" onClick={() => setChosen(fresh)}>
            {t("pullRequest.chooseNew", { count: countOf(fresh) })}
          </Button>
        </div>
      )}
      {countOf(chosen) > 0 && <SendForm task={task} chosen={chosen} onSent={onSent} />}
    </>
  );
}
