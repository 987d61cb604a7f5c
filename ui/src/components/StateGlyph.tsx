import { useTranslation } from "react-i18next";
import type { Tone } from "./Badge.tsx";
import styles from "./StateGlyph.module.css";

/** What a state means to the person, whatever a workflow calls it. */
export type StateKind =
  | "backlog"
  | "initial"
  | "active"
  | "waiting"
  | "gate"
  | "awaiting"
  | "blocked"
  | "failed"
  | "done"
  | "unmerged"
  | "cancelled"
  | "custom";

export const stateKinds: readonly StateKind[] = [
  "backlog",
  "initial",
  "active",
  "waiting",
  "gate",
  "awaiting",
  "blocked",
  "failed",
  "done",
  "unmerged",
  "cancelled",
  "custom",
];

export const stateTone: Readonly<Record<StateKind, Tone>> = {
  backlog: "neutral",
  initial: "neutral",
  active: "accent",
  waiting: "neutral",
  gate: "review",
  awaiting: "warning",
  blocked: "danger",
  failed: "danger",
  done: "success",
  unmerged: "warning",
  cancelled: "neutral",
  custom: "neutral",
};

const octagon = "M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3z";
const stroke = { fill: "none", stroke: "currentColor", strokeWidth: 1.6 } as const;
const cut = { ...stroke, className: styles.cut, strokeLinecap: "round" } as const;

/** One silhouette per kind: told apart in grey, and at 12 px. */
const shapes: Readonly<Record<StateKind, React.ReactNode>> = {
  backlog: <circle cx="8" cy="8" r="6" {...stroke} strokeDasharray="1.6 2.17" />,
  initial: <circle cx="8" cy="8" r="6" {...stroke} />,
  active: (
    <>
      <circle cx="8" cy="8" r="6" {...stroke} />
      <path d="M8 4.6a3.4 3.4 0 0 1 0 6.8z" fill="currentColor" className={styles.core} />
    </>
  ),
  waiting: (
    <>
      <circle cx="8" cy="8" r="6" {...stroke} />
      <path d="M8 4.8V8l2.2 1.6" {...stroke} strokeLinecap="round" strokeLinejoin="round" />
    </>
  ),
  gate: (
    <>
      <path d="M8 1.6 14.4 8 8 14.4 1.6 8z" {...stroke} strokeLinejoin="round" />
      <circle cx="8" cy="8" r="1.9" fill="currentColor" />
    </>
  ),
  awaiting: (
    <>
      <path
        d="M8 1.7c.5 0 1 .3 1.3.8l5.3 9.6c.5 1-.2 2.2-1.3 2.2H2.7c-1.1 0-1.8-1.2-1.3-2.2l5.3-9.6c.3-.5.8-.8 1.3-.8z"
        fill="currentColor"
      />
      <path d="M8 5.9v3.4M8 11.8v.05" {...cut} />
    </>
  ),
  blocked: (
    <>
      <path d={octagon} fill="currentColor" />
      <path d="M5 8h6" {...cut} strokeWidth="2" />
    </>
  ),
  failed: (
    <>
      <rect x="1.8" y="1.8" width="12.4" height="12.4" rx="2.5" fill="currentColor" />
      <path d="m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8" {...cut} />
    </>
  ),
  done: (
    <>
      <circle cx="8" cy="8" r="6.8" fill="currentColor" />
      <path d="m5.1 8.2 2 2 3.8-4.2" {...cut} strokeLinejoin="round" />
    </>
  ),
  unmerged: (
    <>
      <circle cx="8" cy="8" r="6" {...stroke} strokeDasharray="3.2 1.51" />
      <path d="m5.4 8.2 1.8 1.8 3.4-3.8" {...stroke} strokeLinecap="round" strokeLinejoin="round" />
    </>
  ),
  cancelled: (
    <>
      <circle cx="8" cy="8" r="6" {...stroke} />
      <path d="m3.9 12.1 8.2-8.2" {...stroke} />
    </>
  ),
  custom: <path d="M8 1.6 13.5 4.8v6.4L8 14.4l-5.5-3.2V4.8z" {...stroke} strokeLinejoin="round" />,
};

export interface StateGlyphProps {
  readonly kind: StateKind;
  /** The state's own name; without one the kind's. Pass "" beside a visible name. */
  readonly label?: string;
  /** An agent is at work: the core breathes. */
  readonly live?: boolean;
  readonly size?: number;
}

export function StateGlyph({ kind, label, live = false, size = 14 }: StateGlyphProps) {
  const { t } = useTranslation();
  const name = label ?? t(`state.${kind}`);
  return (
    <svg
      viewBox="0 0 16 16"
      width={size}
      height={size}
      className={styles.glyph}
      data-tone={stateTone[kind]}
      data-live={live || undefined}
      {...(name ? { role: "img", "aria-label": name } : { "aria-hidden": true })}
    >
      {shapes[kind]}
    </svg>
  );
}
