import { CircleAlert, Info, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { Stack } from "./Stack.tsx";
import styles from "./Banner.module.css";

export type BannerTone = "info" | "warning" | "danger";

export interface BannerProps {
  readonly tone: BannerTone;
  readonly title: string;
  readonly children?: ReactNode;
  /** Instead of the tone's own: what kind of thing it is about. */
  readonly icon?: ReactNode;
  /** What proves it: a CodeBlock, a list of files. */
  readonly evidence?: ReactNode;
  /** Leads to the evidence while it is not shown. */
  readonly more?: ReactNode;
  /** What the person can do, the likeliest first. */
  readonly actions?: ReactNode;
}

const icons: Readonly<Record<BannerTone, ReactNode>> = {
  info: <Info />,
  warning: <TriangleAlert />,
  danger: <CircleAlert />,
};

/** Stays until its cause is gone. */
export function Banner({ tone, title, children, icon, evidence, more, actions }: BannerProps) {
  return (
    <section
      className={styles.banner}
      data-tone={tone}
      role={tone === "info" ? "status" : "alert"}
      aria-label={title}
    >
      <span className={styles.icon} aria-hidden>
        {icon ?? icons[tone]}
      </span>
      {/* Without evidence it is a line: the words, and beside them what can be done. */}
      <Stack gap={1} fill data-line={!evidence || undefined}>
        <div className={styles.say}>
          <h3 className={styles.title}>{title}</h3>
          {children && (
            <div dir="auto" className={styles.text}>
              {children}
            </div>
          )}
        </div>
        {evidence && <div className={styles.evidence}>{evidence}</div>}
        {(more || actions) && (
          <div className={styles.actions}>
            {actions}
            {more}
          </div>
        )}
      </Stack>
    </section>
  );
}
