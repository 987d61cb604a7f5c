import { TextField, type TextFieldProps } from "./TextField.tsx";

export interface NumberFieldProps extends Omit<
  TextFieldProps,
  "value" | "onChange" | "inputMode" | "defaultValue"
> {
  /** Null is an empty field. */
  readonly value: number | null;
  readonly onChange: (value: number | null) => void;
  readonly signed?: boolean;
}

/** A whole number. What cannot be typed is not there to be wrong. */
export function NumberField({ value, onChange, signed = false, ...rest }: NumberFieldProps) {
  return (
    <TextField
      {...rest}
      inputMode="numeric"
      value={value === null ? "" : String(value)}
      onChange={(text) => {
        const digits = text.replaceAll(/\D/g, "").slice(0, 9);
        const minus = signed && text.trim().startsWith("-") ? "-" : "";
        onChange(digits === "" ? null : Number(minus + digits));
      }}
    />
  );
}
