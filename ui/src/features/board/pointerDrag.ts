/**
 * A press that may become a drag. Everything is decided in the event it happens in: no press, move
 * or release waits for a render, a frame or a promise, so that none of them can be lost, however
 * fast the hand or slow the machine. The listeners are the window's, so that what was pressed may be
 * drawn anew or go meanwhile.
 *
 * Touch is left alone: there the same stroke scrolls, and cards are moved by their menu.
 */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** What happens to the thing that is dragged. Exactly one of `drop` and `cancel` follows `lift`. */
export interface DragSteps {
  /** The press has become a drag; `false` when there is nothing to drag. */
  lift(pressed: Point): boolean;
  move(pointer: Point): void;
  drop(pointer: Point): void;
  cancel(): void;
}

/** A press becomes a drag at this many pixels; before, it is a click. */
const threshold = 5;

const controls = "a, button, input, select, textarea, [contenteditable]";

/** Whether a press on a thing may drag it: by the main button, not on a control inside of it. */
export function isDragPress(event: PointerEvent, thing: Element): boolean {
  const { button, isPrimary, pointerType, target } = event;
  if (button !== 0 || !isPrimary || pointerType === "touch") return false;
  const control = target instanceof Element ? target.closest(controls) : null;
  return control === null || control === thing || !thing.contains(control);
}

const pointOf = ({ clientX, clientY }: PointerEvent): Point => ({ x: clientX, y: clientY });

function swallow(event: Event): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}

/**
 * The release of a drag is no click. Whether and where the engine makes one of it differs, so all
 * are swallowed until the next press. Those of keys and scripts count no presses and go through.
 */
function swallowClicks(): void {
  const until = new AbortController();
  const options = { capture: true, signal: until.signal };
  addEventListener("click", (event) => event.detail > 0 && swallow(event), options);
  addEventListener("pointerdown", () => until.abort(), options);
}

/** Follows the pointer from a press to its end. Returns what ends it before. */
export function followPointer(press: PointerEvent, steps: DragSteps): () => void {
  const pressed = pointOf(press);
  const following = new AbortController();
  const options = { capture: true, signal: following.signal };
  const root = document.documentElement;
  let lifted = false;

  const end = (how: () => void) => {
    following.abort();
    if (!lifted) return;
    lifted = false;
    delete root.dataset["dragging"];
    how();
  };
  const cancel = () => end(steps.cancel);

  /** Whether this made a drag of the press. */
  const liftAt = (pointer: Point): boolean => {
    if (lifted || Math.hypot(pointer.x - pressed.x, pointer.y - pressed.y) < threshold)
      return false;
    if (!steps.lift(pressed)) {
      cancel();
      return false;
    }
    lifted = true;
    root.dataset["dragging"] = "";
    swallowClicks();
    return true;
  };

  const on = (type: string, listener: (event: PointerEvent) => void) =>
    addEventListener(
      type,
      (event) => {
        if (event instanceof PointerEvent && event.pointerId === press.pointerId) listener(event);
      },
      options,
    );
  on("pointermove", (event) => {
    // Released where nothing could be heard of it, e.g. over a window of the system.
    if ((event.buttons & 1) === 0) {
      cancel();
      return;
    }
    const pointer = pointOf(event);
    // The root has it, since it alone cannot be taken out of the page meanwhile.
    if (liftAt(pointer)) root.setPointerCapture(press.pointerId);
    if (lifted) steps.move(pointer);
  });
  on("pointerup", (event) => {
    // Of a flick the release may be all that is heard after the press.
    const pointer = pointOf(event);
    liftAt(pointer);
    end(() => steps.drop(pointer));
  });
  on("pointercancel", cancel);
  on("lostpointercapture", cancel);

  // The browser's own answers to a press that moves.
  for (const type of ["dragstart", "selectstart"]) addEventListener(type, swallow, options);
  addEventListener("contextmenu", (event) => lifted && swallow(event), options);
  // Keys would act on a board of which a part is in the air.
  const onKey = (event: KeyboardEvent) => {
    if (!lifted) return;
    swallow(event);
    if (event.key === "Escape") cancel();
  };
  addEventListener("keydown", onKey, options);
  return cancel;
}
