/** What can be done to the chosen cards, for the menu of a card and the bar of a selection. */
import { openInEditor } from "#ui/app/PlaceButtons.tsx";
import { listActions, type ListedAction } from "#ui/app/taskActionList.tsx";
import type { Task } from "#ui/api/generated.ts";
import { copyLinks, type TaskActionId } from "#ui/domain/taskActions.ts";
import { t } from "#ui/i18n/index.ts";
import { start, stop, type Acting } from "./actions.ts";

/** Keys of actions on the board. */
export const actionKeys: Partial<Record<TaskActionId, string>> = { move: "m", assign: "a" };

/** Its name on the board, where some are followed by a choice. */
export const actionLabel = ({ id, label }: Pick<ListedAction, "id" | "label">): string =>
  id === "move" || id === "assign" ? t(`board.command.${id}`) : label;

/** Does it to the tasks that are chosen when it is called. */
export function actionDeed(acting: Acting, id: TaskActionId): () => void {
  const { model, platform } = acting;
  switch (id) {
    case "start":
      return () => void start(acting, model.chosen());
    case "stop":
      return () => void stop(acting, model.chosen());
    case "move":
    case "assign":
      return () => model.state.setState({ picking: id });
    case "link":
      return () => copyLinks(model.chosen());
    case "editor":
      return () => openInEditor(platform, model.chosen()[0]?.workspace ?? null);
    case "delete":
      return () => model.state.setState({ deleting: model.chosen() });
  }
}

export interface ChosenAction extends ListedAction {
  readonly keys?: string;
  readonly run: () => void;
}

export function chosenActions(acting: Acting, tasks: readonly Task[]): readonly ChosenAction[] {
  return listActions(tasks, acting.model.view() ?? undefined).map((action) => {
    const keys = actionKeys[action.id];
    return {
      ...action,
      label: actionLabel(action),
      ...(keys ? { keys } : {}),
      run: actionDeed(acting, action.id),
    };
  });
}
