/** How a card is tied to others: what it is part of, how far its own parts are, what it waits for. */
import { CornerDownRight, Link2, ListTree } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task } from "#ui/api/generated.ts";
import styles from "./Card.module.css";

export function ParentMark({ id }: { id: string }) {
  const { t } = useTranslation();
  // Read once for all its parts.
  const parent = useOp("task_get", { task_id: id }).data;
  if (!parent) return null;
  const { number, title } = parent;
  return (
    <span className={styles.kin} title={t("subtasks.partOf", { number, title })}>
      <CornerDownRight aria-hidden />
      <span className="visually-hidden">{t("board.partOf")}</span>#{number}
    </span>
  );
}

export function KinNumbers({ task }: { task: Task }) {
  const { t } = useTranslation();
  const { subtasks, blocked_by: blockers } = task;
  return (
    <>
      {blockers.length > 0 && (
        <span
          className={styles.kin}
          role="img"
          aria-label={t("board.blockedBy", { count: blockers.length })}
          title={t("board.blockedBy", { count: blockers.length })}
        >
          <Link2 aria-hidden />
          {blockers.length}
        </span>
      )}
      {subtasks.total > 0 && (
        <span
          className={styles.kin}
          role="img"
          aria-label={t("board.subtasks", { closed: subtasks.closed, count: subtasks.total })}
          title={t("board.subtasks", { closed: subtasks.closed, count: subtasks.total })}
        >
          <ListTree aria-hidden />
          {subtasks.closed}/{subtasks.total}
        </span>
      )}
    </>
  );
}
