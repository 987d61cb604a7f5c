import type { ReactNode } from "react";
import { CopyButton } from "./CopyButton.tsx";
import styles from "./CodeBlock.module.css";

export interface CodeBlockProps {
  /** What is copied; also what is shown unless children draw it otherwise. */
  readonly code: string;
  /** A file, a command, a language. */
  readonly caption?: ReactNode;
  readonly wrap?: boolean;
  readonly maxHeight?: number;
  /** Names what is copied, where that is what the block is for: its button then stays in sight. */
  readonly copyLabel?: string;
  readonly children?: ReactNode;
}

export function CodeBlock({
  code,
  caption,
  wrap = false,
  maxHeight,
  copyLabel,
  children,
}: CodeBlockProps) {
  return (
    <figure className={styles.block}>
      {caption && <figcaption className={styles.caption}>{caption}</figcaption>}
      <pre
        className={styles.code}
        data-wrap={wrap || undefined}
        // A scrolling region must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        style={{ maxHeight }}
      >
        <code>{children ?? code}</code>
      </pre>
      <span className={styles.copy} data-shown={copyLabel ? true : undefined}>
        <CopyButton text={code} {...(copyLabel ? { label: copyLabel } : {})} />
      </span>
    </figure>
  );
}
