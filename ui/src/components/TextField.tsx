import { Field } from "@base-ui/react/field";
import type { ComponentProps, ReactNode } from "react";
import { cx } from "./cx.ts";
import layout from "./layout.module.css";
import styles from "./TextField.module.css";

interface FieldProps {
  readonly label: string;
  readonly hideLabel?: boolean;
  /** What the value is for; stays in sight. */
  readonly hint?: ReactNode;
  /** What is wrong with the value. */
  readonly error?: string | undefined;
}

function FieldFrame({
  label,
  hideLabel = false,
  hint,
  error,
  disabled,
  children,
}: FieldProps & { disabled: boolean; children: ReactNode }) {
  return (
    <Field.Root className={styles.field} invalid={Boolean(error)} disabled={disabled}>
      <Field.Label className={cx(styles.label, hideLabel && "visually-hidden")}>
        {label}
      </Field.Label>
      {children}
      {hint && <Field.Description className={layout.note}>{hint}</Field.Description>}
      {error && (
        <Field.Error className={layout.error} match>
          {error}
        </Field.Error>
      )}
    </Field.Root>
  );
}

export interface TextFieldProps
  extends FieldProps, Omit<ComponentProps<typeof Field.Control>, "className" | "onChange"> {
  readonly onChange?: (value: string) => void;
  readonly icon?: ReactNode;
  /** Sits inside the box at its end: a button, a unit, a key. */
  readonly suffix?: ReactNode;
  readonly mono?: boolean;
}

export function TextField({
  label,
  hideLabel,
  hint,
  error,
  icon,
  suffix,
  mono = false,
  disabled = false,
  onChange,
  ...rest
}: TextFieldProps) {
  return (
    <FieldFrame {...{ label, hint, error, disabled }} hideLabel={hideLabel ?? false}>
      <div className={styles.box}>
        {icon && <span className={styles.icon}>{icon}</span>}
        <Field.Control
          autoComplete="off"
          spellCheck={false}
          dir={mono ? undefined : "auto"}
          {...rest}
          className={cx(styles.input, mono && styles.mono)}
          onValueChange={(value) => onChange?.(value)}
        />
        {suffix && <span className={styles.suffix}>{suffix}</span>}
      </div>
    </FieldFrame>
  );
}

export interface TextAreaProps
  extends FieldProps, Omit<ComponentProps<"textarea">, "className" | "onChange"> {
  readonly onChange?: (value: string) => void;
  readonly mono?: boolean;
}

export function TextArea({
  label,
  hideLabel,
  hint,
  error,
  mono = false,
  disabled = false,
  onChange,
  rows = 3,
  ...rest
}: TextAreaProps) {
  return (
    <FieldFrame {...{ label, hint, error, disabled }} hideLabel={hideLabel ?? false}>
      <div className={styles.box}>
        <Field.Control
          render={<textarea rows={rows} dir={mono ? undefined : "auto"} {...rest} />}
          className={cx(styles.input, styles.area, mono && styles.mono)}
          onValueChange={(value) => onChange?.(value)}
        />
      </div>
    </FieldFrame>
  );
}
