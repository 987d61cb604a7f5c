import { useTranslation } from "react-i18next";
import type { Column, WorkflowView } from "#ui/api/generated.ts";
import { priorityLevels, priorityNumber } from "#ui/domain/priority.ts";
import { recoverable, recoveriesOf } from "#ui/domain/recovery.ts";
import { kindOfState } from "#ui/domain/stateKinds.ts";
import { statesOf } from "#ui/domain/useStates.ts";
import {
  CommandPalette,
  type PaletteGroup,
  type PaletteItem,
} from "#ui/components/CommandPalette.tsx";
import { PriorityGlyph } from "#ui/components/PriorityGlyph.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { assign, move, setPriority } from "./actions.ts";
import type { AgentNames } from "./BoardCard.tsx";
import { useBoard } from "./model.ts";
import { roleGroups } from "./roleGroups.tsx";
import { refusal } from "./rules.ts";
import { useActing } from "./useActing.ts";

interface PickersProps {
  readonly view: WorkflowView;
  readonly agents: AgentNames;
  readonly columns: readonly Column[];
}

/** Where to, to whom, how urgent: chosen by typing, for the selected cards or the focused one. */
export function Pickers({ view, agents, columns }: PickersProps) {
  const { t } = useTranslation();
  const acting = useActing();
  const { model } = acting;
  const picking = useBoard((state) => state.picking);
  const close = () => {
    model.state.setState({ picking: null });
    const { focused } = model.state.getState();
    if (focused !== null) model.focusCard(focused);
  };
  const tasks = picking ? model.chosen() : [];
  const items: PaletteItem[] = [];
  if (picking === "move") {
    for (const column of columns) {
      const refused = refusal(view, tasks, column);
      if (refused) continue;
      const state = statesOf(view).get(column.drop_state);
      items.push({
        id: column.name,
        label: column.name,
        icon: <StateGlyph kind={state?.cancels ? "cancelled" : kindOfState(state)} label="" />,
        run: () => {
          const inside = tasks.filter((task) => !column.states.includes(task.status));
          if (inside.length > 0) move(acting, { tasks: inside, column: column.name, place: {} });
        },
      });
    }
  }
  const first = tasks[0];
  const title =
    tasks.length > 1
      ? t("board.selected", { count: tasks.length })
      : first
        ? `#${first.number} ${first.title}`
        : "";
  if (picking === "priority") {
    for (const level of priorityLevels) {
      items.push({
        id: level,
        label: t(`board.priority.${level}`),
        icon: <PriorityGlyph level={priorityNumber(level) as 0} label="" />,
        run: () => void setPriority(acting, tasks, priorityNumber(level)),
      });
    }
  }
  if (picking === "unblock") {
    const all = recoverable(tasks).length;
    for (const recovery of recoveriesOf(tasks)) {
      const { verb, label, tasks: offered } = recovery;
      items.push({
        id: verb,
        label,
        detail: t("board.recover.fits", { count: all, some: offered.length }),
        run: () => model.state.setState({ recovering: { ...recovery, done: null } }),
      });
    }
  }
  const groups: PaletteGroup[] =
    picking === "assign"
      ? roleGroups({
          view,
          agents,
          title,
          words: { you: t("board.you"), nobody: t("board.group.nobody") },
          give: (role, holder) => void assign(acting, tasks, role, holder),
        })
      : picking
        ? [{ value: title, items }]
        : [];
  return (
    <CommandPalette
      open={picking !== null && tasks.length > 0}
      onOpenChange={(open) => !open && close()}
      title={picking ? t(`board.command.${picking}`) : ""}
      groups={groups}
    />
  );
}
