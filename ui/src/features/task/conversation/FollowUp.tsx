import { ArrowUp, Square } from "lucide-react";
import { useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Execution, Task } from "#ui/api/generated.ts";
import { isMac } from "#ui/app/combo.ts";
import { Button } from "#ui/components/Button.tsx";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import { ActionError } from "../ActionError.tsx";
import { useAction } from "../useAction.ts";
import styles from "./FollowUp.module.css";

/** How many comments on the diff nobody was told yet. */
function useDrafts(task: Task): number {
  const enabled = task.workspace !== null && task.workspace.status !== "creating";
  const comments = useOp("task_comments", { task_id: task.id }, { enabled }).data?.items;
  return comments?.filter(({ status }) => status === "draft").length ?? 0;
}

/** Says something to the agent that worked last; while it works it can be stopped. */
export function FollowUp({ task, execution }: { task: Task; execution: Execution }) {
  const { t } = useTranslation();
  const [message, setMessage] = useState("");
  const [chosen, setWithDrafts] = useState(false);
  const drafts = useDrafts(task);
  const withDrafts = chosen && drafts > 0;
  const action = useAction();
  const running = task.live !== null || ["starting", "running"].includes(execution.status);
  const reason = running
    ? t("conversation.busyAgent")
    : task.waiting?.reason === "workspace_locked"
      ? task.waiting.message
      : null;
  // Comments say enough without a word.
  const blank = message.trim() === "" && !withDrafts;

  const send = async () => {
    if (blank || reason || action.busy) return;
    const done = await action.run("execution_follow_up", {
      execution_id: execution.id,
      message: message.trim(),
      ...(withDrafts ? { with_comments: true } : {}),
    });
    if (!done) return;
    setMessage("");
    setWithDrafts(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const mod = isMac ? event.metaKey : event.ctrlKey;
    if (event.key !== "Enter" || !mod) return;
    event.preventDefault();
    void send();
  };

  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
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
      <div className={styles.box}>
        <textarea
          className={styles.input}
          aria-label={t("conversation.followUp")}
          placeholder={reason ?? t("conversation.followUpPlaceholder")}
          disabled={reason !== null}
          rows={2}
          value={message}
          onChange={(event) => setMessage(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <div className={styles.bar}>
          {running ? (
            <Button
              size="sm"
              icon={<Square />}
              busy={action.busy === "execution_stop"}
              onClick={() =>
                void action.run("execution_stop", {
                  execution_id: task.live?.execution_id ?? execution.id,
                })
              }
            >
              {t("conversation.stop")}
            </Button>
          ) : (
            <Button
              size="sm"
              type="submit"
              icon={<ArrowUp />}
              keys="mod+enter"
              disabled={blank || reason !== null}
              busy={action.busy === "execution_follow_up"}
            >
              {t("conversation.send")}
            </Button>
          )}
        </div>
      </div>
    </form>
  );
}
