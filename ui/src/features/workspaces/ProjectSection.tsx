import { ChevronRight, FolderCog } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { navigate } from "#ui/app/router.ts";
import { bytes } from "#ui/domain/size.ts";
import { useOp } from "#ui/api/client.ts";
import type { Project, ProjectDisk } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { BackupList } from "./BackupList.tsx";
import { usedBytes, usedShare, type ProjectGroup } from "./groups.ts";
import { WorktreeRow } from "./WorktreeRow.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Workspaces.module.css";

function DiskMeter({ project, disk }: { project: Project; disk: ProjectDisk }) {
  const { t } = useTranslation();
  const share = usedShare(disk);
  const used = bytes(usedBytes(disk));
  const text =
    disk.cap_bytes === null
      ? t("workspaces.used", { used })
      : t("workspaces.usedOf", { used, cap: bytes(disk.cap_bytes) });
  return (
    <div className={styles.meter}>
      {disk.unmeasured > 0 && (
        <span className={layout.note}>
          {t("workspaces.unmeasured", { count: disk.unmeasured })}
        </span>
      )}
      {share !== null && (
        <span
          className={styles.track}
          data-over={disk.over || undefined}
          role="meter"
          aria-label={t("workspaces.meter", { name: project.name })}
          aria-valuenow={Math.min(share, 100)}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuetext={text}
        >
          <span style={{ width: `${Math.min(share, 100)}%` }} />
        </span>
      )}
      <span>{text}</span>
    </div>
  );
}

/** What was kept of a project's worktrees, read when it is asked for. */
export function ProjectBackups({ project }: { project: Project }) {
  const { t } = useTranslation();
  const backups = useOp("project_backups", { project_id: project.id });
  const [open, setOpen] = useState(false);
  const items = backups.data?.items ?? [];
  if (items.length === 0 && !backups.error) return null;
  return (
    <>
      <button
        type="button"
        className={styles.fold}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <ChevronRight aria-hidden />
        {backups.error
          ? t("workspaces.backups")
          : t("workspaces.showBackups", { count: items.length })}
      </button>
      {open && (
        <BackupList items={items} error={backups.error} onRetry={() => void backups.refetch()} />
      )}
    </>
  );
}

/** A project's worktrees, the space they take, and what was kept of earlier ones. */
export function ProjectSection({ group }: { group: ProjectGroup }) {
  const { t } = useTranslation();
  const { project, disk, worktrees } = group;
  return (
    <Stack as="section" gap={3} shrink aria-label={t("workspaces.of", { name: project.name })}>
      <div className={styles.head}>
        <h2>{project.name}</h2>
        <IconButton
          size="sm"
          label={t("workspaces.settings", { name: project.name })}
          icon={<FolderCog />}
          onClick={() => navigate("projectSettings", { project: project.id })}
        />
        {disk && <DiskMeter project={project} disk={disk} />}
      </div>
      {disk?.over && disk.cap_bytes !== null && (
        <Banner tone="warning" title={t("workspaces.over")}>
          {t("workspaces.overText", {
            name: project.name,
            used: bytes(usedBytes(disk)),
            cap: bytes(disk.cap_bytes),
          })}
        </Banner>
      )}
      {worktrees.length > 0 && (
        <ul className={layout.surface} aria-label={t("workspaces.of", { name: project.name })}>
          {worktrees.map((worktree) => (
            <WorktreeRow key={worktree.id} worktree={worktree} />
          ))}
        </ul>
      )}
      {disk && disk.slots > 0 && (
        <p className={layout.note}>
          {t("workspaces.slots", { count: disk.slots, size: bytes(disk.slots_bytes ?? 0) })}
        </p>
      )}
      <ProjectBackups project={project} />
    </Stack>
  );
}
