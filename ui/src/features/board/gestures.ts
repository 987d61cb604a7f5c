/** Dragging by pointer and by keys, as changes of the board's state. */
import { t } from "#ui/i18n/index.ts";
import type { Task } from "#ui/api/generated.ts";
import { move, refuse, type Acting } from "./actions.ts";
import { announce, type BoardModel, type ShownColumn } from "./model.ts";
import { isNoMove, keyboardStep, placeAt, slotAt, type DragKey } from "./order.ts";
import type { Point } from "./pointerDrag.ts";
import { refusal } from "./rules.ts";
import { drawnSizes } from "./sizes.ts";

function dragged(model: BoardModel, id: string): readonly Task[] {
  const { selected } = model.state.getState();
  if (selected.has(id)) return model.chosen();
  const found = model.find(id);
  return found ? [found.task] : [];
}

function say(model: BoardModel): void {
  const { drag } = model.state.getState();
  if (!drag?.target) return;
  const { column, slot } = drag.target;
  const items = model.shown().find((shown) => shown.column.name === column)?.items ?? [];
  const rest = items.filter(({ id }) => !drag.ids.has(id)).length;
  const above = items.slice(0, slot).filter(({ id }) => !drag.ids.has(id)).length;
  announce(
    model,
    t("board.announce.over", {
      column,
      place: above + 1,
      total: rest + 1,
      number: drag.tasks[0]?.number ?? 0,
    }),
  );
}

/** Takes up a card, and with it the selection it belongs to. */
export function lift(model: BoardModel, id: string, mode: "pointer" | "keyboard"): boolean {
  const found = model.find(id);
  const tasks = dragged(model, id);
  if (!found || tasks.length === 0) return false;
  const slot = found.column.items.findIndex((item) => item.id === id);
  model.state.setState({
    focused: id,
    editing: null,
    drag: {
      mode,
      tasks,
      ids: new Set(tasks.map((task) => task.id)),
      target: mode === "keyboard" ? { column: found.column.column.name, slot } : null,
    },
  });
  if (mode === "keyboard") {
    announce(
      model,
      t("board.announce.lifted", {
        number: found.task.number,
        column: found.column.column.name,
        place: slot + 1,
        total: found.column.items.length,
      }),
    );
  }
  return true;
}

/** The column that is shown at a point. */
export function columnAt(model: BoardModel, { x, y }: Point): ShownColumn | undefined {
  return model.shown().find(({ element }) => {
    const box = element?.getBoundingClientRect();
    return box && x >= box.left && x < box.right && y >= box.top && y < box.bottom;
  });
}

/** Where the pointer is: which column, and between which of its cards. */
export function pointerAt(model: BoardModel, pointer: Point): void {
  const { drag } = model.state.getState();
  if (!drag) return;
  const over = columnAt(model, pointer);
  const list = over?.list?.element;
  const view = model.view();
  const refused = over && view ? refusal(view, drag.tasks, over.column) : null;
  let target: NonNullable<typeof drag.target> | null = null;
  if (over && view && !refused) {
    const offset = list ? pointer.y - list.getBoundingClientRect().top + list.scrollTop : 0;
    const slot = over.ordered ? slotAt(offset, over.items.length, drawnSizes()) : over.items.length;
    target = { column: over.column.name, slot };
  }
  const sameTarget = target?.column === drag.target?.column && target?.slot === drag.target?.slot;
  if (sameTarget && refused?.to === drag.refused?.to) return;
  model.state.setState({ drag: { ...drag, target, refused } });
}

export function stepTo(model: BoardModel, key: DragKey): void {
  const { drag } = model.state.getState();
  const view = model.view();
  if (!drag?.target || !view) return;
  const columns = model.shown().map(({ column, items }) => ({
    name: column.name,
    items,
    open: refusal(view, drag.tasks, column) === null,
  }));
  const target = keyboardStep(columns, drag.target, key, drag.ids);
  model.state.setState({ drag: { ...drag, target } });
  const shown = model.shown().find(({ column }) => column.name === target.column);
  shown?.element?.scrollIntoView({ inline: "nearest", block: "nearest" });
  if (shown && shown.items.length > 0) {
    shown.list?.scrollToIndex(Math.min(target.slot, shown.items.length - 1));
  }
  say(model);
}

export function putBack(model: BoardModel): void {
  if (!model.state.getState().drag) return;
  model.state.setState({ drag: null });
  announce(model, t("board.announce.cancelled"));
}

/** Lets go: moves the cards when they came to another place. */
export function drop(acting: Acting): void {
  const { model } = acting;
  const { drag } = model.state.getState();
  model.state.setState({ drag: null });
  if (!drag?.target) {
    // The reason on the column goes with the drag; what was tried deserves one that stays a while.
    if (drag?.refused) refuse(model, drag.refused);
    return;
  }
  const shown = model.shown().find(({ column }) => column.name === drag.target?.column);
  if (!shown) return;
  const { slot } = drag.target;
  const stays = drag.tasks.every((task) => shown.column.states.includes(task.status));
  if (stays && (!shown.ordered || isNoMove(shown.items, slot, drag.ids))) {
    announce(model, t("board.announce.stayed"));
    return;
  }
  const place = shown.ordered ? placeAt(shown.items, slot, drag.ids) : {};
  move(acting, { tasks: drag.tasks, column: shown.column.name, place });
}
