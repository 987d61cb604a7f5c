import { Bell } from "lucide-react";
import { useTranslation } from "react-i18next";
import { placeOf } from "#ui/app/noticePlace.ts";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import type { Notification, NotificationKind } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Popover } from "#ui/components/Popover.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { Said } from "#ui/components/Said.tsx";
import { StateGlyph, type StateKind } from "#ui/components/StateGlyph.tsx";
import { overlays, showOverlay, useOverlay } from "#ui/store/overlays.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./NotificationBell.module.css";

const limit = 50;
const glyphs: Readonly<Record<NotificationKind, StateKind>> = {
  blocked: "blocked",
  awaiting_human: "awaiting",
  waiting: "waiting",
  done: "done",
  disk: "blocked",
  agent_asks: "awaiting",
  cost: "blocked",
  race_decided: "awaiting",
  cost_anomaly: "blocked",
};

function Row({ notification, onOpen }: { notification: Notification; onOpen: () => void }) {
  const { t } = useTranslation();
  return (
    <li>
      <button type="button" className={styles.row} onClick={onOpen}>
        <StateGlyph
          kind={glyphs[notification.kind]}
          label={t(`notifications.kind.${notification.kind}`)}
        />
        <Stack as="span" fill>
          <span dir="auto" className={styles.title} data-unread={!notification.read || undefined}>
            {notification.title}
          </span>
          <span dir="auto" className={styles.body}>
            <Said text={notification.body} />
          </span>
          <span className={layout.noteSmall}>
            #{notification.task_number} · <RelativeTime at={notification.created_at} />
          </span>
        </Stack>
        {!notification.read && (
          <span className={styles.dot} role="img" aria-label={t("notifications.unread")} />
        )}
      </button>
    </li>
  );
}

function NotificationList() {
  const { t } = useTranslation();
  const list = useOp("notification_list", { limit });
  const read = useOpMutation("notification_read", { onSuccess: () => void list.refetch() });
  if (list.error) return <ErrorState title={t("notifications.failed")} error={list.error} />;
  const items = list.data?.items ?? [];
  if (items.length === 0) return <p className={styles.empty}>{t("notifications.empty")}</p>;
  const unread = items.some((item) => !item.read);
  return (
    <>
      <ul className={styles.list} aria-label={t("notifications.title")}>
        {items.map((item) => (
          <Row
            key={item.id}
            notification={item}
            onOpen={() => {
              read.mutate({ ids: [item.id] });
              showOverlay(null);
              const { project_id: project, task_number: number, kind } = item;
              location.hash = placeOf({ project, number, kind }, "beside");
            }}
          />
        ))}
      </ul>
      {unread && (
        <Button size="sm" variant="ghost" busy={read.isPending} onClick={() => read.mutate({})}>
          {t("notifications.readAll")}
        </Button>
      )}
    </>
  );
}

/** What the person was told, in the bar of every screen. */
export function NotificationBell() {
  const { t } = useTranslation();
  const open = useOverlay() === "notifications";
  const items = useOp("notification_list", { limit }).data?.items ?? [];
  const unread = items.filter((item) => !item.read).length;
  const label = unread > 0 ? t("notifications.some", { count: unread }) : t("notifications.title");
  return (
    <Popover
      align="end"
      title={t("notifications.title")}
      open={open}
      onOpenChange={(next) => {
        if (next) showOverlay("notifications");
        else if (overlays.getState().open === "notifications") showOverlay(null);
      }}
      trigger={
        <IconButton
          label={label}
          tooltip={false}
          icon={
            <span className={styles.bell}>
              <Bell />
              {unread > 0 && <span className={styles.mark} />}
            </span>
          }
        />
      }
    >
      <NotificationList />
    </Popover>
  );
}
