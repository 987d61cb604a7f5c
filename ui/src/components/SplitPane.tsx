import {
  Fragment,
  useRef,
  useState,
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
} from "react";
import layout from "./layout.module.css";
import styles from "./SplitPane.module.css";

export interface SplitPaneProps {
  /** The kept pane is a part of the page beside its main one, which its handle belongs to. */
  readonly aside?: boolean;
  /** What the handle resizes: its accessible name. */
  readonly label: string;
  /** The pane whose width is kept; the other takes the rest. */
  readonly side: "start" | "end";
  readonly size: number;
  readonly min: number;
  readonly max: number;
  /** Called when the person has let go, or has pressed a key. */
  readonly onResize: (size: number) => void;
  /** Null while there is none: the other has all the room, and stays as it is when one comes. */
  readonly pane: ReactNode | null;
  readonly children: ReactNode;
}

const clamp = (value: number, min: number, max: number) => Math.min(max, Math.max(min, value));

/** Two panes side by side. The handle moves by pointer, arrows (Shift: further), Home and End. */
export function SplitPane({
  aside = false,
  label,
  side,
  size,
  min,
  max,
  onResize,
  pane,
  children,
}: SplitPaneProps) {
  const [draft, setDraft] = useState<number | null>(null);
  const start = useRef({ x: 0, size: 0 });
  const shown = clamp(draft ?? size, min, max);
  const direction = side === "start" ? 1 : -1;

  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    start.current = { x: event.clientX, size: shown };
    setDraft(shown);
  };
  const onPointerMove = (event: PointerEvent) => {
    if (draft === null) return;
    const moved = (event.clientX - start.current.x) * direction;
    setDraft(clamp(start.current.size + moved, min, max));
  };
  const onPointerEnd = () => {
    if (draft !== null) onResize(draft);
    setDraft(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = (event.shiftKey ? 64 : 16) * direction;
    const next = { ArrowRight: shown + step, ArrowLeft: shown - step, Home: min, End: max }[
      event.key
    ];
    if (next === undefined) return;
    event.preventDefault();
    onResize(clamp(next, min, max));
  };

  // A focusable separator is a window splitter: a widget by the ARIA specification.
  /* oxlint-disable jsx-a11y/no-noninteractive-element-interactions, jsx-a11y/no-noninteractive-tabindex */
  const handle = (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={Math.round(shown)}
      aria-valuemin={min}
      aria-valuemax={max}
      tabIndex={0}
      className={styles.handle}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerEnd}
      onPointerCancel={onPointerEnd}
      onKeyDown={onKeyDown}
    />
  );
  /* oxlint-enable */
  const kept = pane !== null && (
    <div className={styles.kept} style={{ width: shown }}>
      {pane}
    </div>
  );
  const Whole = aside && pane !== null ? "aside" : Fragment;
  return (
    <div className={styles.split} data-resizing={draft !== null || undefined}>
      {side === "end" && <div className={layout.frame}>{children}</div>}
      <Whole>
        {side === "start" && kept}
        {pane !== null && handle}
        {side === "end" && kept}
      </Whole>
      {side === "start" && <div className={layout.frame}>{children}</div>}
    </div>
  );
}
