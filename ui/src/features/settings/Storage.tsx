/** The disk, what Forge's own data takes of it, how long it is kept, and copies of the database. */
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import type { Backup, Retention, RetentionQuestion, StorageStatus } from "#ui/api/generated.ts";
import { WORKTREE_BACKUP_DAYS } from "#ui/api/retention.ts";
import { useRoute } from "#ui/app/router.ts";
import { bytes } from "#ui/domain/size.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { NumberRow } from "./NumberRow.tsx";
import { Row, Section } from "./Section.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./SettingsScreen.module.css";

interface Changed {
  readonly onChanged: () => void;
}

type Subject = "logs" | "events" | "backups";

function subjectOf({ kind }: RetentionQuestion): Subject {
  return kind === "logs" || kind === "events" ? kind : "backups";
}

function Question({ question, onChanged }: Changed & { question: RetentionQuestion }) {
  const { t } = useTranslation();
  const { kind, doomed, total } = question;
  const answer = useOpMutation("storage_answer", {
    onSuccess: onChanged,
    onError: ({ message }) =>
      showToast({ tone: "danger", title: t("settings.notSaved"), detail: message }),
  });
  return (
    <div className={styles.notice}>
      <Banner
        tone="warning"
        title={t(`storage.questionTitle.${subjectOf(question)}`)}
        actions={
          <>
            <Button variant="danger" onClick={() => answer.mutate({ kind, answer: "delete" })}>
              {t("storage.delete")}
            </Button>
            {question.answer !== "keep" && (
              <Button onClick={() => answer.mutate({ kind, answer: "keep" })}>
                {t("storage.keep")}
              </Button>
            )}
          </>
        }
      >
        {t("storage.question", { doomed, total })}.{" "}
        {t(question.answer === "keep" ? "storage.kept" : "storage.questionText")}
      </Banner>
    </div>
  );
}

function Days({
  field,
  retention,
  onChanged,
}: Changed & { field: keyof Retention; retention: Retention }) {
  const { t } = useTranslation();
  const update = useOpMutation("storage_update", { onSuccess: onChanged });
  const label = t(field === "logs_days" ? "storage.logsDays" : "storage.eventsDays");
  return (
    <NumberRow
      label={label}
      fieldLabel={`${label}: ${t("storage.days")}`}
      hint={t("storage.daysHint")}
      saved={retention[field] ?? null}
      draft={`retention.${field}`}
      save={(days) => update.mutateAsync({ retention: { ...retention, [field]: days } })}
    />
  );
}

function Copy({ backup, onChanged }: Changed & { backup: Backup }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  const restore = useOpMutation("database_backup_restore", {
    onSuccess: () => {
      setAsking(false);
      onChanged();
    },
    onError: ({ message }) => {
      setAsking(false);
      showToast({ tone: "danger", title: t("storage.notRestored"), detail: message });
    },
  });
  const { name, reason } = backup;
  const hint = [bytes(backup.bytes ?? 0), ...(reason ? [t(`storage.reason.${reason}`)] : [])];
  return (
    <div className={styles.row}>
      <Stack shrink>
        <RelativeTime at={backup.created_at} />
        <span className={layout.note}>{hint.join(" · ")}</span>
      </Stack>
      <Button aria-label={t("storage.restoreOf", { name })} onClick={() => setAsking(true)}>
        {t("storage.restore")}
      </Button>
      <AlertDialog
        open={asking}
        onOpenChange={setAsking}
        title={t("storage.restoreTitle")}
        description={t("storage.restoreText", { at: new Date(backup.created_at).toLocaleString() })}
        confirmLabel={t("storage.restore")}
        danger
        busy={restore.isPending}
        onConfirm={() => restore.mutate({ name })}
      />
    </div>
  );
}

function Backups({ status, onChanged }: Changed & { status: StorageStatus }) {
  const { t } = useTranslation();
  const pending = status.restore_pending;
  const backups = useOp("database_backups", {});
  const changed = () => {
    void backups.refetch();
    onChanged();
  };
  const create = useOpMutation("database_backup_create", {
    onSuccess: () => {
      changed();
      showToast({ tone: "success", title: t("storage.backedUp") });
    },
    onError: ({ message }) =>
      showToast({ tone: "danger", title: t("storage.notBackedUp"), detail: message }),
  });
  return (
    <>
      <Row label={t("storage.backups")} hint={t("storage.backupsHint")}>
        <Button busy={create.isPending} onClick={() => create.mutate({})}>
          {t("storage.backUp")}
        </Button>
      </Row>
      {pending !== null && (
        <div className={styles.notice}>
          <Banner tone="info" title={t("storage.restorePending", { name: pending })} />
        </div>
      )}
      {status.restore_failed !== null && (
        <div className={styles.notice}>
          <Banner tone="danger" title={t("storage.restoreFailed")}>
            {status.restore_failed} {t("storage.restoreFailedText")}
          </Banner>
        </div>
      )}
      {backups.data?.items.length === 0 && <Row label={t("storage.noBackups")} />}
      {backups.data?.items.map((backup) => (
        <Copy key={backup.name} backup={backup} onChanged={changed} />
      ))}
    </>
  );
}

function Usage() {
  const { t } = useTranslation();
  const { data } = useOp("storage_usage", {});
  const known = (count: number | null | undefined) =>
    count === null || count === undefined ? t("storage.diskUnknown") : bytes(count);
  return (
    <>
      <Row label={t("storage.database")}>
        <span className={styles.state}>{known(data?.database_bytes)}</span>
      </Row>
      <Row label={t("storage.copies")} hint={t("storage.copiesHint")}>
        <span className={styles.state}>{known(data?.backups_bytes)}</span>
      </Row>
      <Row label={t("storage.logs")} hint={t("storage.logsHint")}>
        <span className={styles.state}>{known(data?.logs_bytes)}</span>
      </Row>
      <Row label={t("storage.events")}>
        <span className={styles.state}>
          {data ? t("storage.eventsCount", { count: data.events }) : t("storage.diskUnknown")}
        </span>
      </Row>
    </>
  );
}

function Parts({ status, onChanged }: Changed & { status: StorageStatus }) {
  const { t } = useTranslation();
  const { free_bytes: free, total_bytes: total, retention } = status;
  return (
    <>
      {status.questions.map((question) => (
        <Question key={question.kind} question={question} onChanged={onChanged} />
      ))}
      <Row label={t("storage.disk")}>
        <span className={styles.state}>
          {free === null || total === null
            ? t("storage.diskUnknown")
            : t("storage.diskOf", { free: bytes(free), total: bytes(total) })}
        </span>
      </Row>
      <Usage />
      <Days field="logs_days" retention={retention} onChanged={onChanged} />
      <Days field="events_days" retention={retention} onChanged={onChanged} />
      <Row label={t("storage.worktrees")} hint={t("storage.worktreesHint")}>
        <span className={styles.state}>
          {t("storage.worktreesKept", { count: WORKTREE_BACKUP_DAYS })}
        </span>
      </Row>
      <Backups status={status} onChanged={onChanged} />
    </>
  );
}

export function Storage() {
  const { t } = useTranslation();
  const route = useRoute();
  const heading = useRef<HTMLHeadingElement>(null);
  const status = useOp("storage_get", {});
  const isWanted = route.name === "settings" && route.query["part"] === "storage";
  const isRead = status.data !== undefined;
  useEffect(() => {
    if (!isWanted || !isRead) return;
    heading.current?.focus({ preventScroll: true });
    heading.current?.scrollIntoView();
  }, [isWanted, isRead]);
  const read = () => void status.refetch();
  const content = (): ReactNode => {
    if (status.data) return <Parts status={status.data} onChanged={read} />;
    if (status.error) {
      return <ErrorState title={t("storage.failed")} error={status.error} onRetry={read} />;
    }
    return (
      <div className={styles.waiting} aria-busy>
        <SkeletonText lines={6} />
      </div>
    );
  };
  return (
    <Section title={t("storage.title")} headingRef={heading}>
      {content()}
    </Section>
  );
}
