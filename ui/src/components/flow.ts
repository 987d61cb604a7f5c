/** What `Stack` and `Row` have in common. */
import { cx } from "./cx.ts";
import styles from "./flow.module.css";

/** Steps of the scale of spaces in `tokens.css`. */
export type Gap = 0 | 1 | 2 | 3 | 4 | 6 | 8;

export interface Flow {
  /** Space between the parts, a step of the scale. */
  readonly gap?: Gap | undefined;
  /** It takes the room that its parent has left, and no more. */
  readonly fill?: boolean | undefined;
  /** It may become narrower than its widest part. */
  readonly shrink?: boolean | undefined;
}

export const flowClass = (kind: string | undefined, { gap, fill, shrink }: Flow): string =>
  cx(kind, gap !== undefined && styles[`gap${gap}`], fill && styles.fill, shrink && styles.shrink);
