/** The menu of cards: what can be done to all that are chosen, then what only one of them has. */
import { useState, type ReactElement } from "react";
import type { Task, WorkflowView } from "#ui/api/generated.ts";
import { TaskQuestions } from "#ui/app/TaskQuestions.tsx";
import { useTaskActions } from "#ui/app/useTaskActions.tsx";
import { ContextMenu, type MenuEntry } from "#ui/components/Menu.tsx";
import { perform } from "./actions.ts";
import { useActing } from "./useActing.ts";

export interface CardMenuProps {
  readonly view: WorkflowView;
  /** What can be done to all chosen cards. */
  readonly entries: readonly MenuEntry[];
  readonly children: ReactElement;
}

export function CardMenu({ view, entries, children }: CardMenuProps) {
  const acting = useActing();
  const [task, setTask] = useState<Task | null>(null);
  const actionsOf = useTaskActions(view, perform(acting, task?.number ?? 0));
  const actions = task && actionsOf(task);
  const known = new Set(entries.map(({ id }) => id));
  const own = actions?.own.filter(({ id }) => !known.has(`board.${id}`)) ?? [];
  const all: readonly MenuEntry[] =
    own.length === 0 ? entries : [...entries, { kind: "separator", id: "own" }, ...own];
  return (
    <>
      <ContextMenu
        entries={all}
        onOpen={() => {
          const chosen = acting.model.chosen();
          setTask(chosen.length === 1 ? (chosen[0] ?? null) : null);
        }}
      >
        {children}
      </ContextMenu>
      {actions && <TaskQuestions questions={actions.questions} />}
    </>
  );
}
