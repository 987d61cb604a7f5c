import { FileQuestionMark, SquareKanban } from "lucide-react";
import { Suspense, lazy } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { useOp } from "#ui/api/client.ts";
import { navigate, useRoute } from "./router.ts";
import { Screen } from "./Screen.tsx";
import styles from "./TaskPage.module.css";

// The panel brings a diff viewer with it, for which no board should have to wait.
const TaskPanel = lazy(async () => ({
  default: (await import("#ui/features/task/TaskPanel.tsx")).TaskPanel,
}));

function Loading() {
  return (
    <div className={styles.loading} aria-busy>
      <SkeletonText lines={6} />
    </div>
  );
}

/** A task by its number in the address; `panel` beside the board, `page` on its own. */
export function TaskByNumber({
  project,
  number,
  mode,
}: {
  project: string;
  number: number;
  mode: "panel" | "page";
}) {
  const { t } = useTranslation();
  const task = useOp("task_find", { project_id: project, number });
  if (task.data) {
    return (
      <Suspense fallback={<Loading />}>
        <TaskPanel key={task.data.id} projectId={project} taskId={task.data.id} mode={mode} />
      </Suspense>
    );
  }
  if (task.error?.code === "not_found") {
    return (
      <EmptyState
        icon={<FileQuestionMark />}
        title={t("error.noTask", { number })}
        actions={
          <Button icon={<SquareKanban />} onClick={() => navigate("board", { project })}>
            {t("command.go", { place: t("nav.board") })}
          </Button>
        }
      >
        {t("error.noTaskHint")}
      </EmptyState>
    );
  }
  if (task.error) {
    return (
      <ErrorState
        title={t("error.taskNotFound", { number })}
        error={task.error}
        onRetry={() => void task.refetch()}
      />
    );
  }
  return <Loading />;
}

export default function TaskPage() {
  const { t } = useTranslation();
  const route = useRoute();
  if (route.name !== "task") return null;
  const { project, number } = route.params;
  return (
    <Screen title={`${t("nav.task")} #${number}`}>
      <TaskByNumber project={project} number={Number(number)} mode="page" />
    </Screen>
  );
}
