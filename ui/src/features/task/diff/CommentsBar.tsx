/** The comments of the whole task: how many wait to be told, to whom, and the way through them. */
import { ArrowDown, ArrowUp, Pencil, SendHorizontal, Undo2 } from "lucide-react";
import { useCallback, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Comment, FileChange, Task } from "#ui/api/generated.ts";
import { isMac } from "#ui/components/combo.ts";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { useText } from "#ui/draft/useText.ts";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { TextArea } from "#ui/components/TextField.tsx";
import { Tooltip } from "#ui/components/Tooltip.tsx";
import { ActionError } from "../ActionError.tsx";
import { inOrder } from "../conversation/conversation.ts";
import { useAction } from "../useAction.ts";
import { inReadingOrder, strays } from "./comments.ts";
import { goalOf, type Goal } from "./goal.ts";
import { stepTo } from "./hunks.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Comments.module.css";

type Deed = "send" | "reject";

/** Says what goes with the drafts, and lets them go. */
function TellDialog({
  deed,
  task,
  executionId,
  drafts,
  onClose,
}: {
  deed: Deed;
  task: Task;
  executionId: string | null;
  drafts: number;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const action = useAction();
  const { text, write, drop } = useText(`${deed}:${task.id}`);
  const send = async () => {
    if (action.busy) return;
    const said = text.trim();
    const done =
      deed === "reject"
        ? await action.run("review_reject", {
            task_id: task.id,
            wait: "none",
            ...(said === "" ? {} : { reason: said }),
          })
        : executionId !== null &&
          (await action.run("execution_follow_up", {
            execution_id: executionId,
            message: said,
            with_comments: true,
          }));
    if (!done) return;
    drop();
    onClose();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const mod = isMac ? event.metaKey : event.ctrlKey;
    if (event.key !== "Enter" || !mod) return;
    event.preventDefault();
    void send();
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
      title={t(`comments.${deed}.title`)}
      description={t(`comments.${deed}.text`, { count: drafts })}
      actions={
        <>
          <Button variant="ghost" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          <Button
            variant="primary"
            keys="mod+enter"
            busy={action.busy !== null}
            onClick={() => void send()}
          >
            {t(`comments.${deed}.confirm`, { count: drafts })}
          </Button>
        </>
      }
    >
      <Stack gap={3}>
        <TextArea
          autoFocus
          label={t(`comments.${deed}.field`)}
          rows={3}
          value={text}
          onChange={write}
          onKeyDown={onKeyDown}
        />
        <ActionError
          title={t(`comments.${deed}.failed`)}
          error={action.error}
          onDismiss={action.dismiss}
        />
      </Stack>
    </Dialog>
  );
}

/** Steps through the comments as one meets them reading. */
function useWalk(
  comments: readonly Comment[],
  files: readonly FileChange[],
  onGo: (goal: Goal) => void,
) {
  const order = useMemo(() => inReadingOrder(comments, files), [comments, files]);
  const current = useRef<string | null>(null);
  const step = useCallback(
    (way: 1 | -1) => {
      const known = order.findIndex(({ comment }) => comment.id === current.current);
      // Past the last comes the first again.
      const place =
        stepTo(known < 0 ? null : known, way, order.length) ?? (way === 1 ? 0 : order.length - 1);
      const next = order[place];
      if (!next) return;
      current.current = next.comment.id;
      onGo(goalOf(next.comment, next.path));
    },
    [order, onGo],
  );
  return { count: order.length, step };
}

function useWalkKeys(step: (way: 1 | -1) => void, enabled: boolean): void {
  const { t } = useTranslation();
  const commands = useMemo<Command[]>(
    () =>
      (
        [
          ["next", ".", 1],
          ["previous", ",", -1],
        ] as const
      ).map(([name, keys, way]) => ({
        id: `diff.comment.${name}`,
        label: t(`comments.${name}`),
        group: t("task.tab.diff"),
        keys: [keys],
        enabled,
        run: () => step(way),
      })),
    [t, step, enabled],
  );
  useCommands(commands);
}

export interface CommentsBarProps {
  readonly task: Task;
  readonly comments: readonly Comment[];
  /** In the order in which they are shown. */
  readonly files: readonly FileChange[];
  readonly onGo: (goal: Goal) => void;
  readonly strayOpen: boolean;
  readonly onStray: () => void;
}

export function CommentsBar({ task, comments, files, onGo, strayOpen, onStray }: CommentsBarProps) {
  const { t } = useTranslation();
  const executions = useOp("task_executions", { task_id: task.id }).data?.items;
  const last = useMemo(() => inOrder(executions ?? []).at(-1) ?? null, [executions]);
  const [deed, setDeed] = useState<Deed | null>(null);
  const { count, step } = useWalk(comments, files, onGo);
  useWalkKeys(step, count > 0);
  const drafts = comments.filter(({ status }) => status === "draft").length;
  const others = comments.filter(({ status }) => status === "sent").length;
  const away = useMemo(() => strays(comments, files), [comments, files]).length;
  if (comments.length === 0) return null;
  const busy = task.live !== null;
  const send = (
    <Button size="sm" icon={<SendHorizontal />} disabled={busy} onClick={() => setDeed("send")}>
      {t("comments.send.do")}
    </Button>
  );
  return (
    <section className={styles.bar} aria-label={t("comments.label")}>
      {drafts > 0 && (
        <>
          <span className={styles.drafts}>
            <Pencil aria-hidden />
            {t("comments.drafts", { count: drafts })}
          </span>
          {last && (busy ? <Tooltip text={t("conversation.busyAgent")}>{send}</Tooltip> : send)}
          {task.review?.status === "awaiting_human" && (
            <Button size="sm" icon={<Undo2 />} onClick={() => setDeed("reject")}>
              {t("comments.reject.do")}
            </Button>
          )}
        </>
      )}
      {others > 0 && <span className={styles.others}>{t("comments.open", { count: others })}</span>}
      {away > 0 && (
        <Button size="sm" variant="ghost" aria-expanded={strayOpen} onClick={onStray}>
          {t("comments.stray", { count: away })}
        </Button>
      )}
      <span className={layout.fill} />
      {count > 0 && (
        <span className={styles.walk}>
          <IconButton
            label={t("comments.previous")}
            icon={<ArrowUp />}
            size="sm"
            keys=","
            onClick={() => step(-1)}
          />
          <IconButton
            label={t("comments.next")}
            icon={<ArrowDown />}
            size="sm"
            keys="."
            onClick={() => step(1)}
          />
        </span>
      )}
      {deed && (
        <TellDialog
          deed={deed}
          task={task}
          executionId={last?.id ?? null}
          drafts={drafts}
          onClose={() => setDeed(null)}
        />
      )}
    </section>
  );
}
