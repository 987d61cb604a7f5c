import {
  CheckCheck,
  Columns3,
  Eye,
  Grip,
  LifeBuoy,
  ListFilter,
  PanelRightOpen,
  Pencil,
  Rows3,
  Signal,
  SquareCheck,
  UserRound,
} from "lucide-react";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { setQuery } from "#ui/app/router.ts";
import { listActions } from "#ui/app/taskActionList.tsx";
import type { WorkflowView } from "#ui/api/generated.ts";
import type { MenuEntry } from "#ui/components/Menu.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { recoverable } from "#ui/domain/recovery.ts";
import { searchId } from "./BoardBar.tsx";
import { actionDeed, actionKeys, actionLabel } from "./chosen.ts";
import type { BoardFilter } from "./filter.ts";
import { lift } from "./gestures.ts";
import type { Pick } from "./model.ts";
import { useActing } from "./useActing.ts";

interface Wanted {
  readonly view: WorkflowView;
  readonly filter: BoardFilter;
  readonly onOpen: (number: number | null) => void;
}

const onCards: ReadonlySet<string> = new Set(
  ["open", "edit", "pick", "priority"].map((id) => `board.${id}`),
);

/** The board's commands; those that only the board has for cards are also in the menu of a card. */
export function useBoardCommands({ view, filter, onOpen }: Wanted): readonly MenuEntry[] {
  const { t } = useTranslation();
  const acting = useActing();
  const { group: grouping, hidden, agents } = filter;
  const ownOnly = agents.join() === "user";
  const commands = useMemo((): Command[] => {
    const { model } = acting;
    const group = t("board.label");
    const focused = () => model.find(model.state.getState().focused ?? "")?.task;
    const pick = (picking: Pick) => () => model.state.setState({ picking });
    const next = { none: "priority", priority: "agent", agent: null } as const;
    const all: Omit<Command, "group">[] = [
      {
        id: "board.open",
        label: t("board.command.open"),
        keys: ["enter", "o"],
        icon: <PanelRightOpen />,
        run: () => onOpen(focused()?.number ?? null),
      },
      {
        id: "board.edit",
        label: t("board.command.edit"),
        keys: ["e"],
        icon: <Pencil />,
        run: () => model.state.setState({ editing: focused()?.id ?? null }),
      },
      {
        id: "board.pick",
        label: t("board.command.pick"),
        keys: ["space"],
        icon: <Grip />,
        run: () => {
          const task = focused();
          if (!task) return;
          model.focusCard(task.id);
          lift(model, task.id, "keyboard");
        },
      },
      {
        id: "board.priority",
        label: t("board.command.priority"),
        keys: ["shift+p"],
        icon: <Signal />,
        run: pick("priority"),
      },
      {
        id: "board.unblock",
        label: t("board.command.unblock"),
        keys: ["shift+u"],
        icon: <LifeBuoy />,
        run: () => {
          if (recoverable(model.chosen()).length > 0) pick("unblock")();
          else showToast({ tone: "warning", title: t("board.noUnblock") });
        },
      },
      ...listActions([], view).map(({ id, icon }) => ({
        id: `board.${id}`,
        label: actionLabel({ id, label: t(`task.action.${id}`, { count: 1 }) }),
        ...(actionKeys[id] ? { keys: [actionKeys[id]] } : {}),
        icon,
        enabled: (id !== "start" && id !== "assign") || view.work_role !== null,
        run: () => {
          const reason = listActions(model.chosen(), view).find((each) => each.id === id)?.closed;
          if (reason) showToast({ tone: "warning", title: reason });
          else actionDeed(acting, id)();
        },
      })),
      {
        id: "board.select",
        label: t("board.command.select"),
        keys: ["x"],
        icon: <SquareCheck />,
        run: () => {
          const { selected, focused: id } = model.state.getState();
          if (id === null) return;
          const toggled = new Set(selected);
          if (!toggled.delete(id)) toggled.add(id);
          model.state.setState({ selected: toggled, anchor: id });
        },
      },
      {
        id: "board.selectColumn",
        label: t("board.command.selectColumn"),
        keys: ["shift+x"],
        icon: <CheckCheck />,
        run: () => {
          const id = model.state.getState().focused ?? "";
          const items = model.find(id)?.column.items ?? [];
          model.state.setState({ selected: new Set(items.map((task) => task.id)), anchor: id });
        },
      },
      {
        id: "board.filter",
        label: t("board.command.filter"),
        keys: ["/"],
        icon: <ListFilter />,
        run: () => document.getElementById(searchId)?.focus(),
      },
      {
        id: "board.clearFilter",
        label: t("board.clearFilter"),
        keys: ["shift+f"],
        icon: <ListFilter />,
        run: () => setQuery({ q: null, agent: null, state: null }),
      },
      {
        id: "board.mine",
        label: t("board.command.mine"),
        keys: ["shift+m"],
        icon: <UserRound />,
        run: () => setQuery({ agent: ownOnly ? null : "user" }),
      },
      {
        id: "board.group",
        label: t("board.command.group"),
        keys: ["shift+g"],
        icon: <Rows3 />,
        run: () => setQuery({ group: next[grouping] }),
      },
      {
        id: "board.hidden",
        label: t("board.showHidden"),
        keys: ["shift+h"],
        icon: hidden ? <Columns3 /> : <Eye />,
        run: () => setQuery({ hidden: hidden ? null : "1" }),
      },
    ];
    return all.map((command) => ({ ...command, group }));
  }, [t, acting, view, onOpen, grouping, hidden, ownOnly]);
  useCommands(commands);
  return useMemo(
    () =>
      commands
        .filter(({ id, enabled }) => onCards.has(id) && enabled !== false)
        .map(({ id, label, icon, keys, run }): MenuEntry => ({
          id,
          label,
          icon,
          ...(keys?.[0] ? { keys: keys[0] } : {}),
          onSelect: run,
        })),
    [commands],
  );
}
