/** Messages that wait for the end of the run, as the engine keeps them. */
import { CornerDownRight, Paperclip } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task } from "#ui/api/generated.ts";
import { queuedMessages } from "./queued.ts";
import { Truncate } from "#ui/components/Truncate.tsx";
import styles from "./FollowUp.module.css";

export function Queued({ task }: { task: Task }) {
  const { t } = useTranslation();
  const moves = useOp("task_transitions", { task_id: task.id }).data?.items ?? [];
  const messages = queuedMessages(moves);
  if (messages.length === 0) return null;
  return (
    <section className={styles.queued} aria-label={t("conversation.queued")}>
      <h4 className={styles.queuedHead}>{t("conversation.afterRun")}</h4>
      <ul>
        {messages.map(({ text, comments, files }, index) => (
          <li key={index}>
            <CornerDownRight aria-hidden />
            {text !== "" && <Truncate title={text}>{text}</Truncate>}
            {comments > 0 && (
              <span className={styles.queuedNote}>
                {t("conversation.queuedComments", { count: comments })}
              </span>
            )}
            {files.length > 0 && (
              <span className={styles.queuedNote} title={files.join("\n")}>
                <Paperclip aria-hidden />
                {files.length === 1
                  ? files[0]
                  : t("conversation.queuedFiles", { count: files.length })}
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
