import { Button as BaseButton } from "@base-ui/react/button";
import type { ComponentProps, ReactNode } from "react";
import { Tooltip } from "./Tooltip.tsx";
import { cx } from "./cx.ts";
import styles from "./IconButton.module.css";

export interface IconButtonProps extends Omit<
  ComponentProps<typeof BaseButton>,
  "className" | "style" | "children"
> {
  /** The accessible name, also the tooltip. */
  readonly label: string;
  readonly icon: ReactNode;
  readonly size?: "sm" | "md" | "lg";
  readonly keys?: string;
  /** A toggle's state; shown as pressed. */
  readonly pressed?: boolean;
  /** False where Escape must reach what is around, or the name is plain to see. */
  readonly tooltip?: boolean;
  readonly className?: string | undefined;
}

export function IconButton({
  label,
  icon,
  size = "md",
  keys,
  pressed,
  tooltip = true,
  className,
  ...rest
}: IconButtonProps) {
  const button = (
    <BaseButton
      type="button"
      {...rest}
      aria-label={label}
      aria-pressed={pressed}
      className={cx(styles.button, className)}
      data-size={size}
    >
      {icon}
    </BaseButton>
  );
  if (!tooltip) return button;
  return (
    <Tooltip text={label} {...(keys ? { keys } : {})}>
      {button}
    </Tooltip>
  );
}
