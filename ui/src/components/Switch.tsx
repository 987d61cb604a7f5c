import { Switch as Base } from "@base-ui/react/switch";
import { useId, type ReactNode } from "react";
import layout from "./layout.module.css";
import styles from "./Switch.module.css";

export interface SwitchProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
}

/** Takes effect at once; what waits for a button is a Checkbox. */
export function Switch({ label, hint, checked, onChange, disabled = false }: SwitchProps) {
  const id = useId();
  return (
    <div className={styles.row} data-disabled={disabled || undefined}>
      <div className={styles.text}>
        <span id={`${id}-label`}>{label}</span>
        {hint && (
          <span id={`${id}-hint`} className={layout.note}>
            {hint}
          </span>
        )}
      </div>
      <Base.Root
        aria-labelledby={`${id}-label`}
        {...(hint ? { "aria-describedby": `${id}-hint` } : {})}
        className={styles.track}
        data-forced-colour
        checked={checked}
        onCheckedChange={(next) => onChange(next)}
        disabled={disabled}
      >
        <Base.Thumb className={styles.thumb} />
      </Base.Root>
    </div>
  );
}
