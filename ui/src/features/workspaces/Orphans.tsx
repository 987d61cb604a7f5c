/** Folders that belong to no task: listed with what they hold, taken or removed only when asked. */
import { FolderSearch, GitCommitHorizontal, PencilLine } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { bytes } from "#ui/domain/size.ts";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import type { OrphanFolder, Project } from "#ui/api/generated.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Badge } from "#ui/components/Badge.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { Tooltip } from "#ui/components/Tooltip.tsx";
import { AdoptDialog } from "./AdoptDialog.tsx";
import { folderName, holdsWork } from "./groups.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Workspaces.module.css";

function Holds({ orphan }: { orphan: OrphanFolder }) {
  const { t } = useTranslation();
  const { unmerged_commits: commits, uncommitted } = orphan;
  if (!holdsWork(orphan)) return null;
  return (
    <p className={styles.facts}>
      {commits > 0 && (
        <Badge tone="warning" icon={<GitCommitHorizontal />}>
          {t("workspaces.unmerged", { count: commits })}
        </Badge>
      )}
      {uncommitted > 0 && (
        <Badge tone="warning" icon={<PencilLine />}>
          {t("workspaces.uncommitted", { count: uncommitted })}
        </Badge>
      )}
    </p>
  );
}

function Orphan({
  orphan,
  project,
  onAdopt,
  onReclaim,
}: {
  orphan: OrphanFolder;
  project: Project | undefined;
  onAdopt: () => void;
  onReclaim: () => void;
}) {
  const { t } = useTranslation();
  const name = folderName(orphan.path);
  const adopt = (
    <Button
      size="sm"
      disabled={!orphan.adoptable}
      focusableWhenDisabled
      aria-label={t("workspaces.adoptOf", { name })}
      onClick={onAdopt}
    >
      {t("workspaces.adopt")}
    </Button>
  );
  return (
    <li className={styles.row}>
      <FolderSearch aria-hidden size={14} />
      <div className={styles.text}>
        <p className={styles.path} title={orphan.path} data-selectable>
          {name}
        </p>
        <p className={styles.meta}>
          <span>{project?.name ?? t("workspaces.unknownProject")}</span>
          {orphan.branch && (
            <code title={orphan.branch} data-selectable>
              {orphan.branch}
            </code>
          )}
          {orphan.last_change && (
            <span>
              {t("workspaces.changed")} <RelativeTime at={orphan.last_change} />
            </span>
          )}
          {!holdsWork(orphan) && orphan.branch && <span>{t("workspaces.nothingLost")}</span>}
        </p>
        <Holds orphan={orphan} />
      </div>
      <div className={styles.side}>
        <span className={styles.size}>{orphan.bytes === null ? "–" : bytes(orphan.bytes)}</span>
        {orphan.adoptable ? adopt : <Tooltip text={t("workspaces.notAdoptable")}>{adopt}</Tooltip>}
        <Button size="sm" aria-label={t("workspaces.reclaimOf", { name })} onClick={onReclaim}>
          {t("workspaces.reclaim")}
        </Button>
      </div>
    </li>
  );
}

function ReclaimDialog({ orphan, onClose }: { orphan: OrphanFolder | null; onClose: () => void }) {
  const { t } = useTranslation();
  const reclaim = useOpMutation("orphan_reclaim", {
    onSuccess: () => {
      onClose();
      showToast({
        tone: "success",
        title:
          orphan?.bytes == null
            ? t("workspaces.reclaimedUnknown")
            : t("workspaces.reclaimed", { size: bytes(orphan.bytes) }),
      });
    },
  });
  const commits = orphan?.unmerged_commits ?? 0;
  return (
    <AlertDialog
      open={orphan !== null}
      onOpenChange={(open) => {
        if (!open) onClose();
        reclaim.reset();
      }}
      danger
      busy={reclaim.isPending}
      title={t("workspaces.reclaimTitle")}
      description={
        <span className={layout.anywhere}>
          {t("workspaces.reclaimText", { path: orphan?.path ?? "" })}
          {commits > 0 && ` ${t("workspaces.reclaimUnmerged", { count: commits })}`}
        </span>
      }
      confirmLabel={t("workspaces.reclaimAction")}
      onConfirm={() => {
        if (orphan) reclaim.mutate({ path: orphan.path });
      }}
    >
      {reclaim.error && (
        <Banner tone="danger" title={t("workspaces.notReclaimed")}>
          {errorText(reclaim.error)}
        </Banner>
      )}
    </AlertDialog>
  );
}

export function Orphans({ projects }: { projects: readonly Project[] }) {
  const { t } = useTranslation();
  const orphans = useOp("workspace_orphans", {});
  const [adopting, setAdopting] = useState<OrphanFolder | null>(null);
  const [reclaiming, setReclaiming] = useState<OrphanFolder | null>(null);
  const items = orphans.data?.items ?? [];
  const finder = new Map(projects.map((project) => [project.id, project]));
  return (
    <>
      {orphans.error ? (
        <ErrorState
          title={t("workspaces.orphansFailed")}
          error={orphans.error}
          onRetry={() => void orphans.refetch()}
        />
      ) : (
        items.length > 0 && (
          <Stack as="section" gap={3} shrink aria-label={t("workspaces.orphans")}>
            <div className={styles.head}>
              <h2>{t("workspaces.orphans")}</h2>
            </div>
            <p className={layout.note}>{t("workspaces.orphansText")}</p>
            <ul className={layout.surface} aria-label={t("workspaces.orphans")}>
              {items.map((orphan) => (
                <Orphan
                  key={orphan.path}
                  orphan={orphan}
                  project={finder.get(orphan.project_id ?? "")}
                  onAdopt={() => setAdopting(orphan)}
                  onReclaim={() => setReclaiming(orphan)}
                />
              ))}
            </ul>
          </Stack>
        )
      )}
      {adopting && (
        <AdoptDialog orphan={adopting} projects={projects} onClose={() => setAdopting(null)} />
      )}
      <ReclaimDialog orphan={reclaiming} onClose={() => setReclaiming(null)} />
    </>
  );
}
