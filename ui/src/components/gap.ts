/** The gaps that `Stack` and `Row` have: steps of the scale of spaces in `tokens.css`. */
import styles from "./flow.module.css";

export type Gap = 1 | 2 | 3 | 4 | 8;

export const gapClass = (gap: Gap | undefined): string | undefined => gap && styles[`gap${gap}`];
