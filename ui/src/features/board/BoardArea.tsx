import { useEffect, useRef, type KeyboardEvent, type MouseEvent } from "react";
import { useTranslation } from "react-i18next";
import type { Column as ColumnFacts, WorkflowView } from "#ui/api/generated.ts";
import type { Machines } from "#ui/domain/machines/machines.ts";
import { AskBeforeDelete } from "./AskBeforeDelete.tsx";
import { AskBeforeMove } from "./AskBeforeMove.tsx";
import { AskBeforeRecovery } from "./AskBeforeRecovery.tsx";
import { instructionsId, type AgentNames } from "./BoardCard.tsx";
import { CardMenu } from "./CardMenu.tsx";
import { NoTasks } from "./BoardEmpty.tsx";
import { BulkBar } from "./BulkBar.tsx";
import { Column } from "./Column.tsx";
import { DragGhost, type GhostHandle } from "./DragGhost.tsx";
import { drop, lift, putBack, stepTo } from "./gestures.ts";
import type { BoardFilter } from "./filter.ts";
import { clearSelection, useBoard, useBoardModel, type BoardModel } from "./model.ts";
import { cardsBetween, neighbourCard, type DragKey } from "./order.ts";
import { Pickers } from "./Pickers.tsx";
import { useActing } from "./useActing.ts";
import { useBoardCommands } from "./useBoardCommands.tsx";
import { useCardDrag } from "./useCardDrag.ts";
import styles from "./BoardArea.module.css";

export interface BoardAreaProps {
  readonly view: WorkflowView;
  readonly columns: readonly ColumnFacts[];
  readonly filter: BoardFilter;
  readonly agents: AgentNames;
  readonly machines: Machines;
  readonly open: string | null;
  readonly onOpen: (number: number | null) => void;
}

const dragKeys: ReadonlySet<string> = new Set([
  "ArrowUp",
  "ArrowDown",
  "ArrowLeft",
  "ArrowRight",
  "Home",
  "End",
]);
const isDragKey = (key: string): key is DragKey => dragKeys.has(key);

const cardOf = (target: EventTarget) =>
  target instanceof Element
    ? (target.closest<HTMLElement>("[data-task]")?.dataset["task"] ?? null)
    : null;

export function select(model: BoardModel, id: string, how: "toggle" | "range"): void {
  const { selected, anchor } = model.state.getState();
  const next = new Set(selected);
  if (how === "toggle") {
    if (!next.delete(id)) next.add(id);
    model.state.setState({ selected: next, anchor: id, focused: id });
    return;
  }
  const items = model.find(id)?.column.items ?? [];
  for (const each of cardsBetween(items, anchor ?? id, id)) next.add(each);
  model.state.setState({ selected: next, focused: id });
}

function Announcer() {
  const { t } = useTranslation();
  const text = useBoard((state) => state.announcement);
  return (
    <>
      <p id={instructionsId} hidden>
        {t("board.instructions")}
      </p>
      <div className="visually-hidden" role="status" aria-live="assertive" aria-atomic>
        {text}
      </div>
    </>
  );
}

/** The card of the open task has the focus again when the panel is closed. */
function useOpenCard(open: string | null): void {
  const model = useBoardModel();
  const before = useRef(open);
  useEffect(() => {
    const was = before.current;
    before.current = open;
    if (open !== null || was === null) return;
    const found = model
      .shown()
      .flatMap(({ items }) => items)
      .find(({ number }) => String(number) === was);
    if (found && document.activeElement === document.body) model.focusCard(found.id);
  }, [model, open]);
}

/** The keys of a focused card, or of lifted ones. True when the key has been used. */
function useCardKeys(onOpen: (number: number) => void) {
  const acting = useActing();
  const { model } = acting;
  return (event: KeyboardEvent): boolean => {
    const { drag, focused } = model.state.getState();
    // The focus follows a frame after the key that moved it; the next key may be faster.
    const at = cardOf(event.target);
    const id = at !== null && focused !== null && model.find(focused) ? focused : at;
    if (drag?.mode === "keyboard") {
      if (event.key === "Escape") {
        putBack(model);
        if (id) model.focusCard(id);
      } else if (event.key === " " || event.key === "Enter") {
        drop(acting);
        // A question that the drop has raised keeps the focus.
        if (id && !model.state.getState().asking) requestAnimationFrame(() => model.focusCard(id));
      } else if (isDragKey(event.key)) stepTo(model, event.key);
      else return event.key === "Tab";
      return true;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    if (event.key === "Escape" && model.state.getState().selected.size > 0) {
      clearSelection(model);
      return true;
    }
    if (isDragKey(event.key)) {
      const from = id ?? "";
      const next = neighbourCard(
        model.shown().map(({ column, items }) => ({ name: column.name, items })),
        from,
        event.key,
      );
      if (next === null) return id !== null;
      if (event.shiftKey && id !== null) select(model, next, "range");
      model.focusCard(next);
      return true;
    }
    if (id === null) return false;
    if (event.key === " ") return lift(model, id, "keyboard");
    if (event.key === "Enter") {
      const found = model.find(id);
      if (found) onOpen(found.task.number);
      return true;
    }
    return false;
  };
}

export function BoardArea({
  view,
  columns,
  filter,
  agents,
  machines,
  open,
  onOpen,
}: BoardAreaProps) {
  const { t } = useTranslation();
  const model = useBoardModel();
  const ghost = useRef<GhostHandle>(null);
  const cardKeys = useCardKeys(onOpen);
  const onPress = useCardDrag(ghost);
  useOpenCard(open);
  const entries = useBoardCommands({ view, filter, onOpen });
  const visible = columns.filter(
    (column) =>
      (filter.hidden || !column.hidden) &&
      (filter.states.length === 0 || column.states.some((state) => filter.states.includes(state))),
  );
  const names = visible.map(({ name }) => name).join("\n");
  useEffect(() => model.setView(view, names.split("\n")), [model, view, names]);

  const empty = !filter.narrowed && columns.every(({ count }) => count === 0);
  if (empty) return <NoTasks view={view} columns={visible} />;

  const onClick = (event: MouseEvent) => {
    const id = cardOf(event.target);
    if (id === null || model.state.getState().editing === id) return;
    if (event.shiftKey) select(model, id, "range");
    else if (event.ctrlKey || event.metaKey) select(model, id, "toggle");
    else {
      clearSelection(model);
      model.state.setState({ focused: id, anchor: id });
      const found = model.find(id);
      if (found) onOpen(found.task.number);
    }
  };
  return (
    <>
      <CardMenu view={view} entries={entries}>
        {/* Clicks and keys of all cards: each card is a button of its own. */}
        {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions, jsx-a11y/click-events-have-key-events */}
        <div
          className={styles.board}
          aria-label={t("board.label")}
          onClick={onClick}
          onPointerDown={onPress}
          onContextMenu={(event) => {
            const id = cardOf(event.target);
            if (id === null) return;
            if (!model.state.getState().selected.has(id)) clearSelection(model);
            model.state.setState({ focused: id });
          }}
          onFocus={(event) => {
            const id = cardOf(event.target);
            if (id !== null && model.state.getState().focused !== id) {
              model.state.setState({ focused: id });
            }
          }}
          onKeyDown={(event) => {
            if (cardKeys(event)) event.preventDefault();
          }}
        >
          {visible.map((column) => (
            <Column
              key={column.name}
              column={column}
              view={view}
              filter={filter}
              agents={agents}
              machines={machines}
              open={open}
            />
          ))}
        </div>
      </CardMenu>
      <DragGhost handle={ghost} view={view} agents={agents} machines={machines} />
      <BulkBar />
      <Pickers view={view} agents={agents} columns={visible} />
      <AskBeforeMove />
      <AskBeforeDelete />
      <AskBeforeRecovery />
      <Announcer />
    </>
  );
}
