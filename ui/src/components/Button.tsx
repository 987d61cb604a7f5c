import { Button as BaseButton } from "@base-ui/react/button";
import type { ComponentProps, ReactNode } from "react";
import { KeyHint } from "./Kbd.tsx";
import { cx } from "./cx.ts";
import styles from "./Button.module.css";

export interface ButtonProps extends Omit<
  ComponentProps<typeof BaseButton>,
  "className" | "style"
> {
  /** `primary` is the one action a screen is about; at most one in sight. */
  readonly variant?: "primary" | "secondary" | "ghost" | "danger";
  readonly size?: "sm" | "md" | "lg";
  readonly icon?: ReactNode;
  /** The combination shown behind the label, e.g. "mod+enter". */
  readonly keys?: string;
  /** Keeps its width and place, takes no click, says that it is busy. */
  readonly busy?: boolean;
  /** A ghost under text: what it says begins where the text does. */
  readonly flush?: boolean;
  readonly className?: string | undefined;
}

export function Button({
  variant = "secondary",
  size = "md",
  icon,
  keys,
  busy = false,
  disabled = false,
  focusableWhenDisabled = false,
  flush = false,
  className,
  children,
  ...rest
}: ButtonProps) {
  return (
    <BaseButton
      type="button"
      {...rest}
      disabled={disabled || busy}
      focusableWhenDisabled={busy || focusableWhenDisabled}
      aria-busy={busy || undefined}
      className={cx(styles.button, className)}
      data-variant={variant}
      data-size={size}
      data-flush={flush || undefined}
    >
      {icon && <span className={styles.icon}>{icon}</span>}
      <span className={styles.label}>{children}</span>
      {keys && <KeyHint keys={keys} tone={variant === "primary" ? "solid" : "plain"} />}
    </BaseButton>
  );
}
