import type { ReactNode } from "react";
import styles from "./Badge.module.css";

export type Tone = "neutral" | "accent" | "success" | "warning" | "danger" | "review";

export interface BadgeProps {
  readonly tone?: Tone;
  /** A shape or icon: colour is never the only difference. */
  readonly icon?: ReactNode;
  /** `count` is round and numeric; `outline` has no fill. */
  readonly look?: "soft" | "outline" | "count";
  readonly children: ReactNode;
}

export function Badge({ tone = "neutral", icon, look = "soft", children }: BadgeProps) {
  return (
    <span className={styles.badge} data-tone={tone} data-look={look}>
      {icon}
      {children}
    </span>
  );
}
