import { cx } from "./cx.ts";
import { Stack } from "./Stack.tsx";
import styles from "./Skeleton.module.css";

export interface SkeletonProps {
  readonly width?: number | string;
  readonly height?: number | string;
  readonly round?: boolean;
}

/**
 * The shape of what is coming. Invisible for its first 150 ms (in CSS, so no timer and no second
 * render), hence what loads quickly never flickers. Put `aria-busy` on the region.
 */
export function Skeleton({ width = "100%", height = 12, round = false }: SkeletonProps) {
  return (
    <span
      aria-hidden
      className={cx(styles.skeleton, round && styles.round)}
      style={{ width, height }}
    />
  );
}

/** A paragraph's worth of lines, the last one shorter. */
export function SkeletonText({ lines = 3 }: { lines?: number }) {
  return (
    <Stack as="span" gap={3} aria-hidden>
      {Array.from({ length: lines }, (_, index) => (
        <Skeleton key={index} width={index === lines - 1 ? "62%" : "100%"} />
      ))}
    </Stack>
  );
}
