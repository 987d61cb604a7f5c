/** Fields of the form, each at its place in the definition. */
import { useState, type ReactNode } from "react";
import { NumberField } from "#ui/components/NumberField.tsx";
import { Select, type SelectOption } from "#ui/components/Select.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import type { Path } from "#ui/draft/path.ts";
import { usePlace } from "./EditorContext.tsx";
import { number, text } from "./definition.ts";

interface PlaceProps {
  readonly path: Path;
  readonly label: string;
  readonly hideLabel?: boolean;
  readonly hint?: ReactNode;
  readonly placeholder?: string;
}

/** Empty takes the key away, unless it must be there. */
export function PlaceText({
  path,
  required = false,
  area = false,
  ...rest
}: PlaceProps & { required?: boolean; area?: boolean }) {
  const { place, value, error, set, clear } = usePlace(path);
  const change = (next: string) => (next === "" && !required ? clear() : set(next));
  const Field = area ? TextArea : TextField;
  return (
    <div data-path={place}>
      <Field {...rest} value={text(value)} error={error} onChange={change} />
    </div>
  );
}

/** A name that others refer to: it changes when it is whole, and never into one that is taken. */
export function PlaceName({
  place,
  value,
  error,
  check,
  onCommit,
  ...rest
}: Omit<PlaceProps, "path"> & {
  place: string;
  value: string;
  error: string | undefined;
  check: (name: string) => string | undefined;
  onCommit: (name: string) => void;
}) {
  const [typed, setTyped] = useState<string | null>(null);
  const problem = typed === null ? undefined : check(typed.trim());
  const commit = () => {
    if (typed === null || problem) return;
    if (typed.trim() !== value) onCommit(typed.trim());
    setTyped(null);
  };
  return (
    <div data-path={place}>
      <TextField
        {...rest}
        mono
        value={typed ?? value}
        error={problem ?? error}
        onChange={setTyped}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit();
          if (event.key !== "Escape" || typed === null) return;
          event.stopPropagation();
          setTyped(null);
        }}
      />
    </div>
  );
}

export function PlaceNumber({
  path,
  suffix,
  ...rest
}: PlaceProps & { readonly suffix?: ReactNode }) {
  const { place, value, error, set, clear } = usePlace(path);
  return (
    <div data-path={place}>
      <NumberField
        {...rest}
        suffix={suffix}
        value={number(value)}
        error={error}
        onChange={(next) => (next === null ? clear() : set(next))}
      />
    </div>
  );
}

const nothing = "";

/** A choice; a value that none of the options is stays in sight, since it is what is written. */
export function PlaceSelect({
  path,
  options,
  none,
  value: given,
  onChange,
  ...rest
}: PlaceProps & {
  readonly options: readonly SelectOption<string>[];
  /** The word for having none; without it one must be chosen. */
  readonly none?: string;
  readonly value?: string;
  readonly onChange?: (value: string | null) => void;
}) {
  const { place, value, error, set, clear } = usePlace(path);
  const chosen = given ?? text(value);
  const isKnown = options.some((option) => option.value === chosen);
  const all: SelectOption<string>[] = [
    ...(none === undefined ? [] : [{ value: nothing, label: none }]),
    ...options,
    ...(chosen === nothing || isKnown ? [] : [{ value: chosen, label: chosen }]),
  ];
  const pick = (next: string) => {
    if (onChange) onChange(next === nothing ? null : next);
    else if (next === nothing) clear();
    else set(next);
  };
  const shown = chosen === nothing && none === undefined ? null : chosen;
  return (
    <div data-path={place}>
      <Select {...rest} value={shown} options={all} error={error} onChange={pick} />
    </div>
  );
}
