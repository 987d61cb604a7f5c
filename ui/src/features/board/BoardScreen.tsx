import { useEffect, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { FileInput, FolderCog } from "lucide-react";
import { navigate, setQuery, formatRoute, useRoute } from "#ui/app/router.ts";
import { Screen } from "#ui/app/Screen.tsx";
import { TaskByNumber } from "#ui/app/TaskPage.tsx";
import { useCurrentProject } from "#ui/app/useProjects.ts";
import { useOp } from "#ui/api/client.ts";
import { useMachineMap } from "#ui/domain/machines/useMachines.ts";
import type { Project } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { showOverlay } from "#ui/store/overlays.ts";
import { BoardArea } from "./BoardArea.tsx";
import { BoardBar } from "./BoardBar.tsx";
import { NoProject } from "./BoardEmpty.tsx";
import { readFilter } from "./filter.ts";
import { BoardModelProvider, createBoardModel } from "./model.ts";
import { useNames } from "./useNames.ts";

function ProjectBoard({ project }: { project: Project }) {
  const { t } = useTranslation();
  const route = useRoute();
  const query = route.name === "board" ? route.query : {};
  const filter = readFilter(query);
  const open = query["task"] ?? null;
  const model = useMemo(() => createBoardModel(project.id), [project.id]);
  const view = useOp("project_workflow_get", { project_id: project.id });
  const board = useOp("project_board", { project_id: project.id });
  const agents = useNames();
  const machines = useMachineMap();
  const failed = view.error ?? board.error;
  return (
    <BoardModelProvider value={model}>
      <Screen
        title={project.name}
        filters={
          <>
            {project.paused && <Badge tone="warning">{t("board.paused")}</Badge>}
            {view.data && (
              <BoardBar view={view.data} filter={filter} agents={agents} machines={machines} />
            )}
          </>
        }
        actions={
          <>
            <IconButton
              label={t("issues.command")}
              icon={<FileInput />}
              onClick={() => showOverlay("importIssues")}
            />
            <IconButton
              label={t("projectSettings.command")}
              keys="g ,"
              icon={<FolderCog />}
              onClick={() => navigate("projectSettings", { project: project.id })}
            />
            <Button size="sm" variant="primary" keys="c" onClick={() => showOverlay("newTask")}>
              {t("newTask.command")}
            </Button>
          </>
        }
        panel={
          open !== null && <TaskByNumber project={project.id} number={Number(open)} mode="panel" />
        }
      >
        {failed ? (
          <ErrorState
            title={t("board.failed")}
            error={failed}
            onRetry={() => void Promise.all([view.refetch(), board.refetch()])}
          />
        ) : (
          view.data &&
          board.data && (
            <BoardArea
              view={view.data}
              columns={board.data.columns}
              filter={filter}
              agents={agents}
              machines={machines}
              open={open}
              onOpen={(number) => setQuery({ task: number === null ? null : String(number) })}
            />
          )
        )}
      </Screen>
    </BoardModelProvider>
  );
}

export default function BoardScreen() {
  const { t } = useTranslation();
  const route = useRoute();
  const projects = useOp("project_list", {});
  const items = projects.data?.items ?? [];
  const current = useCurrentProject(items);
  const project = items.find(({ id }) => id === current);
  const atHome = route.name === "home";
  useEffect(() => {
    // Home is the board of whatever project is in view; no history entry, so that Back works.
    if (atHome && project) location.replace(formatRoute("board", { project: project.id }));
  }, [atHome, project]);

  if (projects.error) {
    return (
      <Screen title={t("nav.board")}>
        <ErrorState
          title={t("board.projectsFailed")}
          error={projects.error}
          onRetry={() => void projects.refetch()}
        />
      </Screen>
    );
  }
  if (project) return <ProjectBoard key={project.id} project={project} />;
  return (
    <Screen title={t("nav.board")}>
      {projects.data && <NoProject missing={route.name === "board" && items.length > 0} />}
    </Screen>
  );
}
