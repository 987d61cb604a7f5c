/** Where the work is on disk, who holds it, and what was kept of it. */
import { FolderGit2 } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type {
  Task,
  TransitionStep,
  Workspace,
  WorkspaceBackup,
  WorkflowView,
} from "#ui/api/generated.ts";
import { PlaceButtons } from "#ui/app/PlaceButtons.tsx";
import { MachineBadge } from "#ui/domain/machines/MachineBadge.tsx";
import { machineOf } from "#ui/domain/machines/machines.ts";
import { useMachineMap } from "#ui/domain/machines/useMachines.ts";
import { RemoveWorktree } from "#ui/domain/RemoveWorktree.tsx";
import { bytes } from "#ui/domain/size.ts";
import { workspaceTones } from "#ui/domain/workspaceTones.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Badge } from "#ui/components/Badge.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { ActionError } from "../ActionError.tsx";
import { LogView } from "../LogView.tsx";
import { isClosed } from "#ui/domain/steps.ts";
import { actionText, stepMark } from "../timeline/steps.ts";
import { useAction } from "../useAction.ts";
import { LockHolder } from "./LockHolder.tsx";
import parts from "../TabParts.module.css";
import { Row } from "#ui/components/Row.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./WorkspaceTab.module.css";

const dateTime = (at: string): string =>
  new Intl.DateTimeFormat(navigator.language, { dateStyle: "medium", timeStyle: "short" }).format(
    new Date(at),
  );

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

function Facts({ workspace }: { workspace: Workspace }) {
  const { t } = useTranslation();
  const { lock } = workspace;
  const machine = useMachineMap().get(machineOf(workspace) ?? "");
  return (
    <Stack as="dl" data-selectable>
      <Fact label={t("workspace.status")}>
        <Badge tone={workspaceTones[workspace.status]}>
          {t(`workspace.is.${workspace.status}`)}
        </Badge>
      </Fact>
      {machine && (
        <Fact label={t("runsOn.label")}>
          <MachineBadge machine={machine} />
        </Fact>
      )}
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
          <LockHolder taskId={workspace.task_id} lock={lock} />
        ) : (
          <span className={layout.faint}>{t("workspace.free")}</span>
        )}
      </Fact>
      <Fact label={t("workspace.ports")}>
        {t("workspace.portsFrom", { port: String(workspace.port_base) })}
      </Fact>
      <Fact label={t("workspace.disk")}>
        {workspace.disk_bytes === null ? (
          <span className={layout.faint}>{t("workspace.notMeasured")}</span>
        ) : (
          bytes(workspace.disk_bytes)
        )}
      </Fact>
      <Fact label={t("workspace.created")}>
        <RelativeTime at={workspace.created_at} />
      </Fact>
    </Stack>
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
        <p className={layout.faint}>{backups.data ? t("workspace.noBackups") : ""}</p>
      ) : (
        <ul className={styles.backups}>
          {items.map((backup) => (
            <li key={backup.ref_name}>
              <code>{backup.commit.slice(0, 8)}</code>
              <span>{t("diff.files", { count: backup.files })}</span>
              <span className={layout.faint}>
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

const makes = ({ action }: TransitionStep) => action === "prepare_workspace";

/** The step that makes the worktree, with what its set-up prints. */
function Making({ task }: { task: Task }) {
  const { t } = useTranslation();
  const moves = useOp("task_transitions", { task_id: task.id }).data?.items ?? [];
  const step = moves.flatMap(({ steps }) => steps).findLast(makes);
  const mark = step && stepMark(step);
  return (
    <Stack as="section" gap={2} aria-label={t("workspace.making")}>
      <p role="status">
        {t("workspace.making")}{" "}
        {step && mark && (
          <span className={layout.faint}>
            {actionText(step, t)}: {t(`timeline.step.${mark}`)}
            {step.reason ? `, ${step.reason}` : ""}
          </span>
        )}
      </p>
      {step?.log_id && <LogView taskId={task.id} logId={step.log_id} look="inline" />}
    </Stack>
  );
}

/** When it goes, and how to have it gone now or kept. */
function Removal({
  task,
  workspace,
  closed,
}: {
  task: Task;
  workspace: Workspace;
  closed: boolean;
}) {
  const { t } = useTranslation();
  const action = useAction();
  const [asked, setAsked] = useState(false);
  const { cleanup_at: at } = workspace;
  if (!closed) return null;
  return (
    <section className={styles.section} aria-label={t("workspace.removal")}>
      <h3>{t("workspace.removal")}</h3>
      <p className={layout.faint}>
        {at === null ? (
          t("workspace.keptText")
        ) : (
          <>
            {t("workspace.removedAt")} <RelativeTime at={at} isAhead /> ({dateTime(at)}).{" "}
            {t("workspace.removalText")}
          </>
        )}
      </p>
      <Row wrap gap={2}>
        <Button size="sm" onClick={() => setAsked(true)}>
          {t("workspace.remove")}
        </Button>
        {at !== null && (
          <Button
            size="sm"
            busy={action.busy === "workspace_keep"}
            onClick={() => void action.run("workspace_keep", { task_id: task.id })}
          >
            {t("workspace.keep")}
          </Button>
        )}
      </Row>
      <ActionError title={t("workspace.notKept")} error={action.error} onDismiss={action.dismiss} />
      <RemoveWorktree task={task} open={asked} onOpenChange={setAsked} />
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
      <p className={layout.faint}>{t("workspace.resetText")}</p>
      <Row wrap gap={2}>
        <Button
          size="sm"
          variant="danger"
          busy={action.busy === "workspace_reset"}
          onClick={() => setAsked(true)}
        >
          {t("workspace.reset")}
        </Button>
      </Row>
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

export function WorkspaceTab({ task, view }: { task: Task; view: WorkflowView | undefined }) {
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
    <div className={parts.page} aria-busy={answer.isPending && task.workspace !== null}>
      {workspace.error && (
        <Banner tone="danger" title={t("workspace.error")}>
          {workspace.error}
        </Banner>
      )}
      {workspace.status === "creating" && <Making task={task} />}
      {!there && <p className={layout.faint}>{t("workspace.cleanedText")}</p>}
      <Facts workspace={workspace} />
      {there && (
        <Row wrap gap={2}>
          <PlaceButtons tree={workspace} />
        </Row>
      )}
      {there && (
        <Removal task={task} workspace={workspace} closed={isClosed(task, view?.workflow)} />
      )}
      <Backups task={task} restorable={there && workspace.lock === null} />
      <Reset task={task} />
    </div>
  );
}
