import { ChevronRight, Ellipsis, Maximize2, Play, Square, X } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task, WorkflowView } from "#ui/api/generated.ts";
import { glyphOf } from "#ui/domain/stateKinds.ts";
import { statesOf } from "#ui/domain/useStates.ts";
import { TaskQuestions } from "#ui/app/TaskQuestions.tsx";
import { useTaskHref } from "#ui/app/useTaskHref.ts";
import type { TaskActions } from "#ui/app/useTaskActions.tsx";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Menu } from "#ui/components/Menu.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { Tooltip } from "#ui/components/Tooltip.tsx";
import { Title } from "./Title.tsx";
import { Properties } from "./Properties.tsx";
import { ReviewBadges } from "./review/ReviewBadges.tsx";
import { RunService } from "./services/RunService.tsx";
import type { Action } from "./useAction.ts";
import styles from "./TaskHeader.module.css";

export interface TaskHeaderProps {
  readonly task: Task;
  readonly view: WorkflowView | undefined;
  readonly action: Action;
  readonly actions: TaskActions;
  readonly onClose: () => void;
  /** Absent on the full page. */
  readonly onFullPage?: () => void;
}

function MainButton({ action, actions }: { action: Action; actions: TaskActions }) {
  const { t } = useTranslation();
  const { main, starters } = actions;
  if (main?.kind === "stop") {
    return (
      <Button
        size="sm"
        icon={<Square />}
        busy={action.busy === "execution_stop"}
        onClick={main.run}
      >
        {t("task.stop")}
      </Button>
    );
  }
  if (main) {
    return (
      <Button
        size="sm"
        variant="primary"
        icon={<Play />}
        busy={action.busy === "task_claim"}
        onClick={main.run}
      >
        {t("task.start")}
      </Button>
    );
  }
  if (starters.length === 0) return null;
  return (
    <Menu
      align="end"
      entries={starters}
      trigger={
        <Button size="sm" variant="primary" icon={<Play />} busy={action.busy === "task_claim"}>
          {t("task.start")}
        </Button>
      }
    />
  );
}

/** The task that this one is part of. */
function ParentChip({ projectId, parentId }: { projectId: string; parentId: string }) {
  const { t } = useTranslation();
  const href = useTaskHref();
  const parent = useOp("task_get", { task_id: parentId }).data;
  if (!parent) return null;
  return (
    <Tooltip text={t("subtasks.partOf", { number: parent.number, title: parent.title })}>
      <a
        className={styles.parent}
        href={href(projectId, parent.number)}
        aria-label={t("subtasks.partOf", { number: parent.number, title: parent.title })}
      >
        #{parent.number}
        <ChevronRight aria-hidden />
      </a>
    </Tooltip>
  );
}

export function TaskHeader({ task, view, action, actions, onClose, onFullPage }: TaskHeaderProps) {
  const { t } = useTranslation();
  const states = view ? statesOf(view) : undefined;
  const state = states?.get(task.status);
  const name = state?.display_name ?? task.status;
  // A review that waits for a person has the button in its banner.
  const runs = task.workspace?.status === "active" && task.review?.status !== "awaiting_human";
  const stateLabel = (
    <>
      <StateGlyph kind={glyphOf(task, state)} label="" live={task.live !== null} />
      {name}
    </>
  );
  return (
    <header className={styles.header}>
      <div className={styles.bar}>
        {task.parent_id !== null && (
          <ParentChip projectId={task.project_id} parentId={task.parent_id} />
        )}
        <span className={styles.number}>#{task.number}</span>
        {actions.moves.length > 0 ? (
          <Menu
            entries={[{ kind: "label", id: "to", label: t("task.moveTo") }, ...actions.moves]}
            trigger={
              <button
                type="button"
                className={styles.state}
                aria-label={t("task.stateIs", { state: name })}
              >
                {stateLabel}
              </button>
            }
          />
        ) : (
          <span className={styles.state}>{stateLabel}</span>
        )}
        <ReviewBadges task={task} workflow={view?.workflow} />
        <span className={styles.space} />
        {runs && (
          <RunService taskId={task.id} projectId={task.project_id} action={action} size="sm" />
        )}
        <MainButton action={action} actions={actions} />
        <Menu
          align="end"
          entries={actions.menu}
          trigger={<IconButton label={t("task.actions")} icon={<Ellipsis />} size="sm" />}
        />
        {onFullPage && (
          <IconButton
            label={t("task.fullPage")}
            icon={<Maximize2 />}
            size="sm"
            onClick={onFullPage}
          />
        )}
        <IconButton
          label={onFullPage ? t("action.closePanel") : t("task.toBoard")}
          {...(onFullPage ? { keys: "escape" } : {})}
          icon={<X />}
          size="sm"
          onClick={onClose}
        />
      </div>
      <Title task={task} />
      <Properties task={task} view={view} action={action} />
      <TaskQuestions questions={actions.questions} />
    </header>
  );
}
