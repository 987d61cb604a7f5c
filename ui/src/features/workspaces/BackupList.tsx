import { History } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { formatRoute } from "#ui/app/router.ts";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { errorText, type ApiError } from "#ui/api/error.ts";
import type { WorkspaceBackup } from "#ui/api/generated.ts";
import { WORKTREE_BACKUP_DAYS } from "#ui/api/retention.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { Tooltip } from "#ui/components/Tooltip.tsx";
import { canRestore, orphanOf } from "./groups.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Workspaces.module.css";

function BackupRow({ backup, onRestore }: { backup: WorkspaceBackup; onRestore: () => void }) {
  const { t } = useTranslation();
  const orphan = orphanOf(backup);
  const task = useOp("task_get", { task_id: backup.task_id }, { enabled: orphan === null }).data;
  const worktrees = useOp("workspace_list", {}).data?.items ?? [];
  const restorable = canRestore(backup, worktrees);
  const button = (
    <Button
      size="sm"
      disabled={!restorable}
      focusableWhenDisabled
      aria-label={t("workspaces.restoreOf", { commit: backup.commit.slice(0, 8) })}
      onClick={onRestore}
    >
      {t("workspace.restore")}
    </Button>
  );
  return (
    <li className={styles.row}>
      <History aria-hidden size={14} />
      <div className={styles.text}>
        {task ? (
          <a
            className={styles.title}
            href={formatRoute("task", { project: task.project_id, number: String(task.number) })}
          >
            <span className={styles.number}>#{task.number}</span>
            <span dir="auto">{task.title}</span>
          </a>
        ) : (
          <span className={styles.title}>
            {orphan === null
              ? t("workspaces.taskGone")
              : t("workspaces.backupOfFolder", { name: orphan })}
          </span>
        )}
        <p className={styles.meta}>
          <code data-selectable>{backup.commit.slice(0, 8)}</code>
          <span>{t("diff.files", { count: backup.files })}</span>
          <RelativeTime at={backup.at} />
        </p>
      </div>
      <div className={styles.side}>
        {restorable ? button : <Tooltip text={t("workspaces.restoreNowhere")}>{button}</Tooltip>}
      </div>
    </li>
  );
}

/** Backups of many tasks; each is put back into its own task's worktree. */
export function BackupList({
  items,
  error,
  onRetry,
}: {
  items: readonly WorkspaceBackup[];
  error: ApiError | null;
  onRetry: () => void;
}) {
  const { t } = useTranslation();
  const [asked, setAsked] = useState<WorkspaceBackup | null>(null);
  const restore = useOpMutation("backup_restore", {
    onSuccess: () => {
      setAsked(null);
      showToast({ tone: "success", title: t("workspace.restored") });
    },
  });
  if (error) {
    return <ErrorState title={t("workspaces.backupsFailed")} error={error} onRetry={onRetry} />;
  }
  return (
    <>
      <p className={layout.note}>{t("workspaces.backupsText", { count: WORKTREE_BACKUP_DAYS })}</p>
      <ul className={layout.surface} aria-label={t("workspaces.backups")}>
        {items.map((backup) => (
          <BackupRow key={backup.ref_name} backup={backup} onRestore={() => setAsked(backup)} />
        ))}
      </ul>
      <AlertDialog
        open={asked !== null}
        onOpenChange={(open) => {
          if (!open) setAsked(null);
          restore.reset();
        }}
        busy={restore.isPending}
        title={t("workspace.restoreTitle")}
        description={t("workspace.restoreText", { count: asked?.files ?? 0 })}
        confirmLabel={t("workspace.restore")}
        onConfirm={() => {
          if (asked) restore.mutate({ task_id: asked.task_id, commit: asked.commit });
        }}
      >
        {restore.error && (
          <Banner tone="danger" title={t("workspaces.notRestored")}>
            {errorText(restore.error)}
          </Banner>
        )}
      </AlertDialog>
    </>
  );
}
