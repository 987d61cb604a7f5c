import type { ComponentProps, ElementType } from "react";
import { type Gap, gapClass } from "./gap.ts";
import { cx } from "./cx.ts";
import styles from "./flow.module.css";

export type StackProps<Tag extends ElementType> = Omit<ComponentProps<Tag>, "as" | "className"> & {
  /** The element; a `div` unless told otherwise. */
  readonly as?: Tag;
  /** Space between the parts, a step of the scale; none unless told otherwise. */
  readonly gap?: Gap;
};

/** A column of parts. */
export function Stack<Tag extends ElementType = "div">({ as, gap, ...rest }: StackProps<Tag>) {
  const Element: ElementType = as ?? "div";
  return <Element {...rest} className={cx(styles.stack, gapClass(gap))} />;
}
