import type { ComponentProps } from "react";
import { cx } from "./cx.ts";
import styles from "./flow.module.css";

export interface TruncateProps extends Omit<ComponentProps<"span">, "className"> {
  /** The element; a `span` unless told otherwise. */
  readonly as?: "span" | "code";
  /** The text takes the room that the rest of its row leaves. */
  readonly fill?: boolean;
}

/** Text that is cut where it has no room; it reads in the direction of its own language. */
export function Truncate({ as: Element = "span", fill = false, ...rest }: TruncateProps) {
  return <Element dir="auto" {...rest} className={cx(styles.truncate, fill && styles.fill)} />;
}
