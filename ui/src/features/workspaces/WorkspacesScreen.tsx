/** All worktrees with the disk space they take, folders that belong to no task, and backups. */
import { FolderGit2, RefreshCw } from "lucide-react";
import { useEffect, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { Screen } from "#ui/app/Screen.tsx";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import type { Project } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Skeleton, SkeletonText } from "#ui/components/Skeleton.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { groupsOf } from "./groups.ts";
import { Orphans } from "./Orphans.tsx";
import { ProjectBackups, ProjectSection } from "./ProjectSection.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Workspaces.module.css";

/** Up and down through the worktrees; Enter follows the link that has the focus. */
function useListCommands(measure: () => void) {
  const { t } = useTranslation();
  const commands = useMemo((): Command[] => {
    const step = (by: 1 | -1) => () => {
      const links = [...document.querySelectorAll<HTMLElement>("[data-worktree]")];
      const at = links.findIndex((link) => link === document.activeElement);
      const next = at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by));
      links[next]?.focus();
    };
    const group = t("nav.workspaces");
    return [
      {
        id: "workspaces.measure",
        label: t("workspaces.measure"),
        group,
        keys: ["r"],
        icon: <RefreshCw />,
        run: measure,
      },
      {
        id: "workspaces.next",
        label: t("workspaces.next"),
        group,
        keys: ["j", "arrowdown"],
        run: step(1),
      },
      {
        id: "workspaces.previous",
        label: t("workspaces.previous"),
        group,
        keys: ["k", "arrowup"],
        run: step(-1),
      },
    ];
  }, [t, measure]);
  useCommands(commands);
}

function Loading() {
  return (
    <Stack gap={3} shrink aria-busy>
      <Skeleton width="30%" height={18} />
      <SkeletonText lines={6} />
    </Stack>
  );
}

/** Backups outlive the worktrees: a project without any may still have some. */
function OnlyBackups({ project }: { project: Project }) {
  const { t } = useTranslation();
  const kept = useOp("project_backups", { project_id: project.id }).data?.items ?? [];
  if (kept.length === 0) return null;
  return (
    <Stack as="section" gap={3} shrink aria-label={t("workspaces.of", { name: project.name })}>
      <div className={styles.head}>
        <h2>{project.name}</h2>
      </div>
      <p className={layout.note}>{t("workspaces.none")}</p>
      <ProjectBackups project={project} />
    </Stack>
  );
}

function Content({ projects }: { projects: readonly Project[] }) {
  const { t } = useTranslation();
  const worktrees = useOp("workspace_list", {});
  const disks = useOp("workspace_disk", {});
  const orphans = useOp("workspace_orphans", {}).data?.items ?? [];
  const failed = worktrees.error ?? disks.error;
  if (failed) {
    return (
      <ErrorState
        title={t("workspaces.failed")}
        error={failed}
        onRetry={() => {
          void worktrees.refetch();
          void disks.refetch();
        }}
      />
    );
  }
  if (!worktrees.data || !disks.data) return <Loading />;
  const groups = groupsOf(projects, worktrees.data.items, disks.data.items);
  const others = projects.filter(({ id }) => groups.every(({ project }) => project.id !== id));
  return (
    <Stack gap={8}>
      {groups.map((group) => (
        <ProjectSection key={group.project.id} group={group} />
      ))}
      {groups.length === 0 && orphans.length === 0 && (
        <EmptyState icon={<FolderGit2 />} title={t("workspaces.empty")}>
          {t("workspaces.emptyText")}
        </EmptyState>
      )}
      {others.map((project) => (
        <OnlyBackups key={project.id} project={project} />
      ))}
      <Orphans projects={projects} />
    </Stack>
  );
}

export default function WorkspacesScreen() {
  const { t } = useTranslation();
  const projects = useOp("project_list", {});
  const { mutate: measureAll, isPending } = useOpMutation("workspace_measure", {
    onError: (error) =>
      showToast({ tone: "danger", title: t("workspaces.notMeasured"), detail: errorText(error) }),
  });
  const measure = useMemo(() => () => measureAll({}), [measureAll]);
  useEffect(measure, [measure]);
  useListCommands(measure);
  return (
    <Screen
      title={t("nav.workspaces")}
      layout="page"
      actions={
        <Button size="sm" icon={<RefreshCw />} keys="r" busy={isPending} onClick={measure}>
          {t("workspaces.measure")}
        </Button>
      }
    >
      {projects.error ? (
        <ErrorState
          title={t("workspaces.failed")}
          error={projects.error}
          onRetry={() => void projects.refetch()}
        />
      ) : projects.data ? (
        <Content projects={projects.data.items} />
      ) : (
        <Loading />
      )}
    </Screen>
  );
}
