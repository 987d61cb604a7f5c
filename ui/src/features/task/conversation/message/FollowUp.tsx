import { ArrowUp, ListEnd, RotateCcw, Square, Zap } from "lucide-react";
import { useRef, useState, type ClipboardEvent, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Execution, ExecutionStatus, Offer, Task } from "#ui/api/generated.ts";
import { isMac } from "#ui/components/combo.ts";
import { useFileTarget } from "#ui/app/fileDrops.ts";
import { useText } from "#ui/draft/useText.ts";
import { Button } from "#ui/components/Button.tsx";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import { ActionError } from "../../ActionError.tsx";
import { useAction } from "../../useAction.ts";
import { FileButton, Files } from "./Files.tsx";
import { Queued } from "./Queued.tsx";
import { useAttachments } from "./useAttachments.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./FollowUp.module.css";

/** How many comments on the diff nobody was told yet. */
function useDrafts(task: Task): number {
  const enabled = task.workspace !== null && task.workspace.status !== "creating";
  const comments = useOp("task_comments", { task_id: task.id }, { enabled }).data?.items;
  return comments?.filter(({ status }) => status === "draft").length ?? 0;
}

const atWork: ReadonlySet<ExecutionStatus> = new Set(["starting", "running", "waiting"]);

/** What the engine offers instead of words: the same work once more. */
const again = ({ verb, fields }: Offer): boolean => verb === "retry" && fields.length === 0;

/** Says something to the agent that worked last; while it works, at once or after its run. */
export function FollowUp({ task, execution }: { task: Task; execution: Execution }) {
  const { t } = useTranslation();
  const { text: message, write: setMessage, drop: dropMessage } = useText(`message:${task.id}`);
  const [chosen, setWithDrafts] = useState(false);
  const drafts = useDrafts(task);
  const withDrafts = chosen && drafts > 0;
  const action = useAction();
  const attachments = useAttachments(task.id);
  const { files, arriving } = attachments;
  const box = useRef<HTMLDivElement>(null);
  const over = useFileTarget(box, attachments.addPaths);
  const running = task.live !== null || atWork.has(execution.status);
  const run = task.live?.execution_id ?? execution.id;
  const reason =
    !running && task.waiting?.reason === "workspace_locked" ? task.waiting.message : null;
  // Comments and files say enough without a word; files on their way are waited for.
  const blank = (message.trim() === "" && !withDrafts && files.length === 0) || arriving.length > 0;

  const send = async (atOnce: boolean) => {
    if (blank || reason || action.busy) return;
    const done = await action.run("execution_follow_up", {
      execution_id: run,
      message: message.trim(),
      ...(withDrafts ? { with_comments: true } : {}),
      ...(files.length > 0 ? { attachments: files.map(({ id }) => id) } : {}),
      ...(atOnce ? { at_once: true } : {}),
    });
    if (!done) return;
    dropMessage();
    setWithDrafts(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const mod = isMac ? event.metaKey : event.ctrlKey;
    if (event.key !== "Enter" || !mod) return;
    event.preventDefault();
    void send(running && event.shiftKey);
  };
  const onPaste = (event: ClipboardEvent) => {
    const pasted = [...event.clipboardData.files];
    if (pasted.length === 0) return;
    event.preventDefault();
    void attachments.add(pasted);
  };
  const sending = action.busy === "execution_follow_up";
  const retry = running ? undefined : task.offers.find(again);

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
      <ActionError
        title={t("conversation.fileFailed")}
        error={attachments.error}
        onDismiss={attachments.dismiss}
      />
      {drafts > 0 && (
        <Checkbox
          label={t("comments.withDrafts", { count: drafts })}
          checked={withDrafts}
          disabled={reason !== null}
          onChange={setWithDrafts}
        />
      )}
      <div ref={box} className={styles.box} data-over={over || undefined}>
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
          onPaste={onPaste}
        />
        <Files attachments={attachments} />
        <div className={styles.bar}>
          <FileButton attachments={attachments} disabled={reason !== null} />
          {running && (
            <Button
              size="sm"
              icon={<Square />}
              busy={action.busy === "execution_stop"}
              onClick={() => void action.run("execution_stop", { execution_id: run })}
            >
              {t("conversation.stop")}
            </Button>
          )}
          {retry && (
            <Button
              size="sm"
              icon={<RotateCcw />}
              title={retry.why}
              busy={action.busy === "task_action"}
              disabled={action.busy !== null}
              onClick={() =>
                void action.run("task_action", {
                  task_id: task.id,
                  verb: retry.verb,
                  version: task.version,
                  wait: "none",
                })
              }
            >
              {retry.label}
            </Button>
          )}
          <span className={layout.fill} />
          {running && (
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
          )}
          <Button
            size="sm"
            type="submit"
            icon={running ? <ListEnd /> : <ArrowUp />}
            keys="mod+enter"
            disabled={blank || reason !== null}
            busy={sending}
          >
            {t(running ? "conversation.sendAfter" : "conversation.send")}
          </Button>
        </div>
      </div>
    </form>
  );
}
