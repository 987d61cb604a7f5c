import type { ComponentProps, ElementType } from "react";
import { type Flow, flowClass } from "./flow.ts";
import styles from "./flow.module.css";

export type StackProps<Tag extends ElementType> = Omit<ComponentProps<Tag>, "as" | "className"> &
  Flow & {
    /** The element; a `div` unless told otherwise. */
    readonly as?: Tag;
  };

/** A column of parts. */
export function Stack<Tag extends ElementType = "div">({
  as,
  gap,
  fill,
  shrink,
  ...rest
}: StackProps<Tag>) {
  const Element: ElementType = as ?? "div";
  return <Element {...rest} className={flowClass(styles.stack, { gap, fill, shrink })} />;
}
