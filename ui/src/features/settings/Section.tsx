/** What the settings are arranged in: sections, and rows of a name and what it is set to. */
import type { ReactNode, Ref } from "react";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./SettingsScreen.module.css";

export interface SectionProps {
  readonly title: string;
  /** Where the keyboard goes when something leads here. */
  readonly headingRef?: Ref<HTMLHeadingElement>;
  readonly children: ReactNode;
}

export function Section({ title, headingRef, children }: SectionProps) {
  return (
    <section className={styles.section} aria-label={title}>
      <h2 ref={headingRef} tabIndex={headingRef ? -1 : undefined} className={styles.heading}>
        {title}
      </h2>
      <div className={layout.surface}>{children}</div>
    </section>
  );
}

export interface RowProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly children?: ReactNode;
}

export function Row({ label, hint, children }: RowProps) {
  return (
    <div className={styles.row}>
      <Stack shrink>
        <span>{label}</span>
        {hint && <span className={layout.note}>{hint}</span>}
      </Stack>
      {children}
    </div>
  );
}
