/** The one place that knows the drag library: pointer only, no feedback of its own. */
import { AutoScroller, Cursor, PointerActivationConstraints, PreventSelection } from "@dnd-kit/dom";
import { PointerSensor } from "@dnd-kit/react";

/** A press becomes a drag after this many pixels; before, it is a click. */
const threshold = 5;

export const sensors = [
  PointerSensor.configure({
    activationConstraints: [new PointerActivationConstraints.Distance({ value: threshold })],
  }),
];

// Keyboard, announcements and the card under the pointer are the board's own.
export const plugins = [
  AutoScroller.configure({ acceleration: 15, threshold: { x: 0.08, y: 0.12 } }),
  Cursor,
  PreventSelection,
];

export { DragDropProvider, useDraggable } from "@dnd-kit/react";
export type { DragEndEvent, DragMoveEvent, DragStartEvent } from "@dnd-kit/react";
