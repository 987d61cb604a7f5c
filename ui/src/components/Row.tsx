import type { ComponentProps, ElementType } from "react";
import { type Flow, flowClass } from "./flow.ts";
import styles from "./flow.module.css";

export type RowProps<Tag extends ElementType> = Omit<ComponentProps<Tag>, "as" | "className"> &
  Flow & {
    /** The element; a `div` unless told otherwise. */
    readonly as?: Tag;
    /** Parts that have no room go to the next line. Without it they stand centred on one line. */
    readonly wrap?: boolean;
  };

/** A line of parts. */
export function Row<Tag extends ElementType = "div">({
  as,
  gap,
  wrap,
  fill,
  shrink,
  ...rest
}: RowProps<Tag>) {
  const Element: ElementType = as ?? "div";
  const kind = wrap ? styles.wrap : styles.row;
  return <Element {...rest} className={flowClass(kind, { gap, fill, shrink })} />;
}
