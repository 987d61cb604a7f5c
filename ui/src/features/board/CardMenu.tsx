/** The menu of cards: what can be done to all that are chosen, then what only one of them has. */
import { useState, type ReactElement } from "react";
import type { Task, WorkflowView } from "#ui/api/generated.ts";
import { TaskQuestions } from "#ui/app/TaskQuestions.tsx";
import { useTaskActions } from "#ui/app/useTaskActions.tsx";
import { ContextMenu, type MenuEntry } from "#ui/components/Menu.tsx";
import { perform } from "./actions.ts";
import { chosenActions } from "./chosen.ts";
import { useActing } from "./useActing.ts";

export interface CardMenuProps {
  readonly view: WorkflowView;
  /** What only the board has for cards. */
  readonly entries: readonly MenuEntry[];
  readonly children: ReactElement;
}

export function CardMenu({ view, entries, children }: CardMenuProps) {
  const acting = useActing();
  const [tasks, setTasks] = useState<readonly Task[]>([]);
  const one = tasks.length === 1 ? tasks[0] : undefined;
  const actionsOf = useTaskActions(view, perform(acting, one?.number ?? 0));
  const actions = one && actionsOf(one);
  // The menu of one card leaves out closed actions; the menu of several cards shows them with the reason.
  const listed = chosenActions(acting, tasks).flatMap((action): MenuEntry[] => {
    const { id, label, icon, danger, keys, closed, run } = action;
    if (one && closed !== null) return [];
    return [
      {
        id,
        label,
        icon,
        danger,
        ...(keys ? { keys } : {}),
        disabled: closed !== null,
        ...(closed === null ? {} : { note: closed }),
        onSelect: run,
      },
    ];
  });
  const own = actions?.own ?? [];
  const all: readonly MenuEntry[] = [
    ...entries,
    { kind: "separator", id: "listed" },
    ...listed,
    ...(own.length === 0 ? [] : [{ kind: "separator" as const, id: "own" }, ...own]),
  ];
  return (
    <>
      <ContextMenu entries={all} onOpen={() => setTasks(acting.model.chosen())}>
        {children}
      </ContextMenu>
      {actions && <TaskQuestions questions={actions.questions} />}
    </>
  );
}
