/** What a person was told about a task is read once the task is looked at, or dealt with. */
import { useEffect, useRef, useSyncExternalStore } from "react";
import { useOp, useOpMutation } from "#ui/api/client.ts";

/** As many as the bell shows. */
const limit = 50;

function follow(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}

/** Marks what is unread about a task as read. */
export function useReadNotices(): (taskId: string) => void {
  const list = useOp("notification_list", { limit });
  const read = useOpMutation("notification_read", { onSuccess: () => void list.refetch() });
  const items = list.data?.items;
  return (taskId) => {
    const ids = (items ?? []).filter((each) => each.task_id === taskId && !each.read);
    if (ids.length > 0) read.mutate({ ids: ids.map(({ id }) => id) });
  };
}

/** Marks what comes in about a task as read while the task is in sight. */
export function useSeen(taskId: string): void {
  const { data } = useOp("notification_list", { limit });
  const read = useReadNotices();
  const inSight = useSyncExternalStore(follow, () => !document.hidden);
  const asked = useRef("");
  const unread = (data?.items ?? [])
    .filter((each) => each.task_id === taskId && !each.read)
    .map(({ id }) => id)
    .join();
  useEffect(() => {
    if (!inSight || unread === "" || unread === asked.current) return;
    asked.current = unread;
    read(taskId);
  });
}
