import {
  ArrowRightLeft,
  CheckCheck,
  Columns3,
  Copy,
  Eye,
  Grip,
  LifeBuoy,
  ListFilter,
  PanelRightOpen,
  Pencil,
  Play,
  Rows3,
  Signal,
  Square,
  SquareCheck,
  SquareCode,
  UserRound,
} from "lucide-react";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { openInEditor } from "#ui/app/PlaceButtons.tsx";
import { setQuery } from "#ui/app/router.ts";
import type { WorkflowView } from "#ui/api/generated.ts";
import type { MenuEntry } from "#ui/components/Menu.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { recoverable } from "#ui/domain/recovery.ts";
import { copyLinks } from "#ui/domain/taskActions.ts";
import { start, stop } from "./actions.ts";
import { searchId } from "./BoardBar.tsx";
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
  ["open", "start", "stop", "edit", "pick", "move", "assign", "priority", "link", "editor"].map(
    (id) => `board.${id}`,
  ),
);

/** The board's commands; those about cards are also what a card's menu offers. */
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
        id: "board.start",
        label: t("board.command.start"),
        icon: <Play />,
        enabled: view.work_role !== null,
        run: () => void start(acting, model.chosen()),
      },
      {
        id: "board.stop",
        label: t("board.command.stop"),
        icon: <Square />,
        run: () => void stop(acting, model.chosen()),
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
        id: "board.move",
        label: t("board.command.move"),
        keys: ["m"],
        icon: <ArrowRightLeft />,
        run: pick("move"),
      },
      {
        id: "board.assign",
        label: t("board.command.assign"),
        keys: ["a"],
        icon: <UserRound />,
        enabled: view.work_role !== null,
        run: pick("assign"),
      },
      {
        id: "board.priority",
        label: t("board.command.priority"),
        keys: ["p"],
        icon: <Signal />,
        run: pick("priority"),
      },
      {
        id: "board.unblock",
        label: t("board.command.unblock"),
        keys: ["u"],
        icon: <LifeBuoy />,
        run: () => {
          if (recoverable(model.chosen()).length > 0) pick("unblock")();
          else showToast({ tone: "warning", title: t("board.noUnblock") });
        },
      },
      {
        id: "board.link",
        label: t("task.copyLink"),
        icon: <Copy />,
        run: () => copyLinks(model.chosen()),
      },
      {
        id: "board.editor",
        label: t("task.openEditor"),
        icon: <SquareCode />,
        run: () => openInEditor(acting.platform, focused()?.workspace ?? null),
      },
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
