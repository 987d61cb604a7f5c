import { FileInput, FolderGit2, FolderPlus, Play, SquareKanban } from "lucide-react";
import { useTranslation } from "react-i18next";
import { navigate } from "#ui/app/router.ts";
import { useOpMutation } from "#ui/api/client.ts";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import type { Column, WorkflowView } from "#ui/api/generated.ts";
import { AgentPrograms, ColumnsExplained } from "./FirstSteps.tsx";
import styles from "./FirstSteps.module.css";
import { showOverlay } from "#ui/store/overlays.ts";

/** The first thing a newcomer sees: a repository of their own, or one to play with. */
export function NoProject({ missing }: { missing: boolean }) {
  const { t } = useTranslation();
  const demo = useOpMutation("demo_create", {
    onSuccess: ({ id }) => navigate("board", { project: id }),
  });
  return (
    <div className={styles.page}>
      <EmptyState
        icon={<FolderGit2 />}
        title={missing ? t("board.gone") : t("screen.board.title")}
        actions={
          <>
            <Button
              variant="primary"
              icon={<FolderPlus />}
              onClick={() => showOverlay("addProject")}
            >
              {t("board.addProject")}
            </Button>
            <Button icon={<Play />} busy={demo.isPending} onClick={() => demo.mutate({})}>
              {t("board.tryDemo")}
            </Button>
          </>
        }
      >
        {missing ? t("board.goneText") : t("screen.board.text")}
      </EmptyState>
      {demo.error && <ErrorState title={t("board.demoFailed")} error={demo.error} />}
      {!missing && <AgentPrograms />}
    </div>
  );
}

export function NoTasks({ view, columns }: { view: WorkflowView; columns: readonly Column[] }) {
  const { t } = useTranslation();
  return (
    <div className={styles.page}>
      <ColumnsExplained view={view} columns={columns} />
      <EmptyState
        icon={<SquareKanban />}
        title={t("board.noTasks")}
        actions={
          <>
            <Button variant="primary" keys="c" onClick={() => showOverlay("newTask")}>
              {t("board.firstTask")}
            </Button>
            <Button icon={<FileInput />} onClick={() => showOverlay("importIssues")}>
              {t("issues.command")}
            </Button>
          </>
        }
      >
        {t("board.noTasksText")}
      </EmptyState>
      <AgentPrograms />
    </div>
  );
}
