import { ArrowUp, CornerDownRight, ListEnd, Square, Zap } from "lucide-react";
import { useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Execution, ExecutionStatus, Task } from "#ui/api/generated.ts";
import { isMac } from "#ui/app/combo.ts";
import { Button } from "#ui/components/Button.tsx";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import { ActionError } from "../ActionError.tsx";
import { useAction } from "../useAction.ts";
import { queuedTexts, rememberSaid, useSaid, waitingMessages } from "./queued.ts";
import styles from "./FollowUp.module.css";

/** How many comments on the diff nobody was told yet. */
function useDrafts(task: Task): number {
  const enabled = task.workspace !== null && task.workspace.status !== "creating";
  const comments = useOp("task_comments", { task_id: task.id }, { enabled }).data?.items;
  return comments?.filter(({ status }) => status === "draft").length ?? 0;
}

/** Messages that wait for the end of the run. */
function Queued({ task }: { task: Task }) {
  const { t } = useTranslation();
  const moves = useOp("task_transitions", { task_id: task.id }).data?.items ?? [];
  const texts = queuedTexts(waitingMessages(moves), useSaid(task.id));
  if (texts.length === 0) return null;
  return (
    <ul className={styles.queued} aria-label={t("conversation.queued")}>
      {texts.map((text, index) => (
        <li key={index}>
          <CornerDownRight aria-hidden />
          <span className={styles.queuedText}>{text ?? t("conversation.queuedElsewhere")}</span>
          <span className={styles.queuedNote}>{t("conversation.afterRun")}</span>
        </li>
      ))}
    </ul>
  );
}

const atWork: ReadonlySet<ExecutionStatus> = new Set(["starting", "running", "waiting"]);

/** Says something to the agent that worked last; while it works, at once or after its run. */
export function FollowUp({ task, execution }: { task: Task; execution: Execution }) {
  const { t } = useTranslation();
  const [message, setMessage] = useState("");
  const [chosen, setWithDrafts] = useState(false);
  const drafts = useDrafts(task);
  const withDrafts = chosen && drafts > 0;
  const action = useAction();
  const running = task.live !== null || atWork.has(execution.status);
  const run = task.live?.execution_id ?? execution.id;
  const reason =
    !running && task.waiting?.reason === "workspace_locked" ? task.waiting.message : null;
  // Comments say enough without a word.
  const blank = message.trim() === "" && !withDrafts;

  const send = async (atOnce: boolean) => {
    if (blank || reason || action.busy) return;
    const text = message.trim();
    const done = await action.run("execution_follow_up", {
      execution_id: run,
      message: text,
      ...(withDrafts ? { with_comments: true } : {}),
      ...(atOnce ? { at_once: true } : {}),
    });
    if (!done) return;
    if (running) rememberSaid(task.id, text || t("conversation.queuedComments"));
    setMessage("");
    setWithDrafts(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const mod = isMac ? event.metaKey : event.ctrlKey;
    if (event.key !== "Enter" || !mod) return;
    event.preventDefault();
    void send(running && event.shiftKey);
  };
  const sending = action.busy === "execution_follow_up";

  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        void send(false);
      }}
    >
      <Queued task={task} />
      <ActionError
        title={t("conversation.followUpFailed")}
        error={action.error}
        onDismiss={action.dismiss}
      />
      {drafts > 0 && (
        <Checkbox
          label={t("comments.withDrafts", { count: drafts })}
          checked={withDrafts}
          disabled={reason !== null}
          onChange={setWithDrafts}
        />
      )}
      <div className={styles.box} data-running={running || undefined}>
        <textarea
          className={styles.input}
          aria-label={t("conversation.followUp")}
          placeholder={
            reason ??
            t(running ? "conversation.busyPlaceholder" : "conversation.followUpPlaceholder")
          }
          disabled={reason !== null}
          rows={2}
          value={message}
          onChange={(event) => setMessage(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <div className={styles.bar}>
          {running ? (
            <>
              <Button
                size="sm"
                icon={<Square />}
                busy={action.busy === "execution_stop"}
                onClick={() => void action.run("execution_stop", { execution_id: run })}
              >
                {t("conversation.stop")}
              </Button>
              <span className={styles.gap} />
              <Button
                size="sm"
                icon={<Zap />}
                keys="mod+shift+enter"
                title={t("conversation.sendNowHint")}
                disabled={blank}
                busy={sending}
                onClick={() => void send(true)}
              >
                {t("conversation.sendNow")}
              </Button>
              <Button
                size="sm"
                type="submit"
                icon={<ListEnd />}
                keys="mod+enter"
                disabled={blank}
                busy={sending}
              >
                {t("conversation.sendAfter")}
              </Button>
            </>
          ) : (
            <Button
              size="sm"
              type="submit"
              icon={<ArrowUp />}
              keys="mod+enter"
              disabled={blank || reason !== null}
              busy={sending}
            >
              {t("conversation.send")}
            </Button>
          )}
        </div>
      </div>
    </form>
  );
}
