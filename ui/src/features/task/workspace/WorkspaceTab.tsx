/** Where the work is on disk, who holds it, and what was kept of it. */
import { FolderGit2, FolderOpen, SquareCode, SquareTerminal } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task, Workspace, WorkspaceBackup, WorkspaceStatus } from "#ui/api/generated.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { ActionError } from "../ActionError.tsx";
import { bytes } from "../numbers.ts";
import { useAction } from "../useAction.ts";
import styles from "./WorkspaceTab.module.css";

const tones: Readonly<Record<WorkspaceStatus, Tone>> = {
  creating: "accent",
  active: "success",
  scheduled: "warning",
  cleaned: "neutral",
  error: "danger",
};

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={styles.fact}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Copyable({ text }: { text: string }) {
  return (
    <span className={styles.copyable}>
      <code>{text}</code>
      <CopyButton text={text} />
    </span>
  );
}

function Places({ path }: { path: string }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const open = (how: (path: string) => Promise<void>) =>
    void how(path).catch((thrown: unknown) =>
      showToast({ tone: "danger", title: t("task.openFailed"), detail: String(thrown) }),
    );
  return (
    <div className={styles.buttons}>
      <Button size="sm" icon={<SquareCode />} onClick={() => open(platform.openInEditor)}>
        {t("workspace.editor")}
      </Button>
      <Button size="sm" icon={<SquareTerminal />} onClick={() => open(platform.openInTerminal)}>
        {t("workspace.terminal")}
      </Button>
      <Button size="sm" icon={<FolderOpen />} onClick={() => open(platform.openPath)}>
        {t("workspace.files")}
      </Button>
    </div>
  );
}

function Facts({ workspace }: { workspace: Workspace }) {
  const { t } = useTranslation();
  const { lock } = workspace;
  return (
    <dl className={styles.facts} data-selectable>
      <Fact label={t("workspace.status")}>
        <Badge tone={tones[workspace.status]}>{t(`workspace.is.${workspace.status}`)}</Badge>
        {workspace.cleanup_at && (
          <span className={styles.quiet}>
            {t("workspace.removal")} <RelativeTime at={workspace.cleanup_at} />
          </span>
        )}
      </Fact>
      <Fact label={t("workspace.path")}>
        <Copyable text={workspace.path} />
      </Fact>
      <Fact label={t("workspace.branch")}>
        <Copyable text={workspace.branch} />
      </Fact>
      <Fact label={t("workspace.base")}>
        <Copyable text={workspace.base_commit.slice(0, 12)} />
      </Fact>
      <Fact label={t("workspace.lock")}>
        {lock ? (
          <span>
            {t("workspace.lockedBy", { pid: lock.pid, host: lock.host })}{" "}
            <span className={styles.quiet}>
              <RelativeTime at={lock.acquired_at} />
            </span>
          </span>
        ) : (
          <span className={styles.quiet}>{t("workspace.free")}</span>
        )}
      </Fact>
      <Fact label={t("workspace.ports")}>
        {t("workspace.portsFrom", { port: String(workspace.port_base) })}
      </Fact>
      <Fact label={t("workspace.disk")}>
        {workspace.disk_bytes === null ? (
          <span className={styles.quiet}>{t("workspace.notMeasured")}</span>
        ) : (
          bytes(workspace.disk_bytes)
        )}
      </Fact>
      <Fact label={t("workspace.created")}>
        <RelativeTime at={workspace.created_at} />
      </Fact>
    </dl>
  );
}

function Backups({ task, restorable }: { task: Task; restorable: boolean }) {
  const { t } = useTranslation();
  const backups = useOp("task_backups", { task_id: task.id });
  const action = useAction();
  const [asked, setAsked] = useState<WorkspaceBackup | null>(null);
  const items = backups.data?.items ?? [];
  const restore = async (backup: WorkspaceBackup) => {
    setAsked(null);
    const done = await action.run("backup_restore", { task_id: task.id, commit: backup.commit });
    if (done) showToast({ tone: "success", title: t("workspace.restored") });
  };
  return (
    <section className={styles.section} aria-label={t("workspace.backups")}>
      <h3>{t("workspace.backups")}</h3>
      {backups.error ? (
        <ErrorState
          title={t("workspace.backupsFailed")}
          error={backups.error}
          onRetry={() => void backups.refetch()}
        />
      ) : items.length === 0 ? (
        <p className={styles.quiet}>{backups.data ? t("workspace.noBackups") : ""}</p>
      ) : (
        <ul className={styles.backups}>
          {items.map((backup) => (
            <li key={backup.ref_name}>
              <code>{backup.commit.slice(0, 8)}</code>
              <span>{t("diff.files", { count: backup.files })}</span>
              <span className={styles.quiet}>
                <RelativeTime at={backup.at} />
              </span>
              <Button size="sm" disabled={!restorable} onClick={() => setAsked(backup)}>
                {t("workspace.restore")}
              </Button>
            </li>
          ))}
        </ul>
      )}
      <ActionError
        title={t("workspace.restoreFailed")}
        error={action.error}
        onDismiss={action.dismiss}
      />
      <AlertDialog
        open={asked !== null}
        onOpenChange={(open) => {
          if (!open) setAsked(null);
        }}
        title={t("workspace.restoreTitle")}
        description={t("workspace.restoreText", { count: asked?.files ?? 0 })}
        confirmLabel={t("workspace.restore")}
        onConfirm={() => {
          if (asked) void restore(asked);
        }}
      />
    </section>
  );
}

function Reset({ task }: { task: Task }) {
  const { t } = useTranslation();
  const action = useAction();
  const [asked, setAsked] = useState(false);
  if (!task.offers.some(({ verb }) => verb === "reset_workspace")) return null;
  return (
    <section className={styles.section} aria-label={t("workspace.reset")}>
      <h3>{t("workspace.reset")}</h3>
      <p className={styles.quiet}>{t("workspace.resetText")}</p>
      <div className={styles.buttons}>
        <Button
          size="sm"
          variant="danger"
          busy={action.busy === "workspace_reset"}
          onClick={() => setAsked(true)}
        >
          {t("workspace.reset")}
        </Button>
      </div>
      <ActionError
        title={t("workspace.resetFailed")}
        error={action.error}
        onDismiss={action.dismiss}
      />
      <AlertDialog
        open={asked}
        onOpenChange={setAsked}
        title={t("workspace.resetTitle")}
        description={`${t("workspace.resetText")} ${t("workspace.resetLoses")}`}
        confirmLabel={t("workspace.reset")}
        danger
        onConfirm={() => {
          setAsked(false);
          void action.run("workspace_reset", { task_id: task.id });
        }}
      />
    </section>
  );
}

export function WorkspaceTab({ task }: { task: Task }) {
  const { t } = useTranslation();
  const answer = useOp(
    "task_workspace",
    { task_id: task.id },
    { enabled: task.workspace !== null },
  );
  const workspace = answer.data ?? task.workspace;
  if (answer.error && answer.error.code !== "not_found") {
    return (
      <ErrorState
        title={t("workspace.failed")}
        error={answer.error}
        onRetry={() => void answer.refetch()}
      />
    );
  }
  if (!workspace) {
    return (
      <EmptyState icon={<FolderGit2 />} title={t("workspace.none")}>
        {t("workspace.noneText")}
      </EmptyState>
    );
  }
  const there = workspace.status !== "cleaned";
  return (
    <div className={styles.workspace} aria-busy={answer.isPending && task.workspace !== null}>
      {workspace.error && (
        <Banner tone="danger" title={t("workspace.error")}>
          {workspace.error}
        </Banner>
      )}
      {!there && <p className={styles.quiet}>{t("workspace.cleanedText")}</p>}
      <Facts workspace={workspace} />
      {there && <Places path={workspace.path} />}
      <Backups task={task} restorable={there && workspace.lock === null} />
      <Reset task={task} />
    </div>
  );
}
