/**
 * The actions on tasks as they are named everywhere: the panel's and the card's menu, the palette, the bar of a selection
 * and Attention. How each is done is the caller's.
 */
import {
  ArrowRightLeft,
  Copy,
  Play,
  Square,
  SquareCode,
  Trash2,
  UserRoundPlus,
} from "lucide-react";
import type { ReactNode } from "react";
import type { Task, WorkflowView } from "#ui/api/generated.ts";
import { closedBecause, taskActionIds, type TaskActionId } from "#ui/domain/taskActions.ts";
import { t } from "#ui/i18n/index.ts";

export interface ListedAction {
  readonly id: TaskActionId;
  readonly label: string;
  readonly icon: ReactNode;
  readonly danger: boolean;
  /** Why it can be done to none of the tasks; null when it can. */
  readonly closed: string | null;
}

const icons: Readonly<Record<TaskActionId, ReactNode>> = {
  start: <Play />,
  stop: <Square />,
  move: <ArrowRightLeft />,
  assign: <UserRoundPlus />,
  link: <Copy />,
  editor: <SquareCode />,
  delete: <Trash2 />,
};

export function listActions(
  tasks: readonly Task[],
  view: WorkflowView | undefined,
): readonly ListedAction[] {
  const count = tasks.length;
  return taskActionIds.map((id) => {
    const reason = closedBecause(id, tasks, view);
    return {
      id,
      label: t(`task.action.${id}`, { count }),
      icon: icons[id],
      danger: id === "delete",
      closed: reason === null ? null : t(`task.closed.${reason}`, { count }),
    };
  });
}
