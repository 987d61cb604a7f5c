import type { ComponentProps, ElementType } from "react";
import { type Gap, gapClass } from "./gap.ts";
import { cx } from "./cx.ts";
import styles from "./flow.module.css";

export type RowProps<Tag extends ElementType> = Omit<ComponentProps<Tag>, "as" | "className"> & {
  /** The element; a `div` unless told otherwise. */
  readonly as?: Tag;
  /** Space between the parts, a step of the scale. */
  readonly gap: Gap;
  /** Parts that have no room go to the next line. Without it they stand centred on one line. */
  readonly wrap?: boolean;
};

/** A line of parts. */
export function Row<Tag extends ElementType = "div">({ as, gap, wrap, ...rest }: RowProps<Tag>) {
  const Element: ElementType = as ?? "div";
  return <Element {...rest} className={cx(wrap ? styles.wrap : styles.row, gapClass(gap))} />;
}
