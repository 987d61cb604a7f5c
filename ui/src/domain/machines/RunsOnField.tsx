import { Check, Server, Tag } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Machine } from "#ui/api/generated.ts";
import { Select, type SelectOption } from "#ui/components/Select.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import layout from "#ui/components/layout.module.css";
import { fitOf, knownLabels, labelsFrom } from "./machines.ts";
import { useKnown, useMachines } from "./useMachines.ts";
import styles from "./RunsOnField.module.css";

type Where = "inherited" | "here" | "labels";

export interface RunsOnFieldProps {
  /** Labels that the machine must all have; none for this computer; null leaves them to `inherited`. */
  readonly value: readonly string[] | null;
  readonly onChange: (value: string[] | null) => void;
  /** Whose labels hold when there are none of one's own, and which these are, if that is known; absent where nothing is
   *  inherited. */
  readonly inherited?: { readonly from: string; readonly labels: readonly string[] | null };
  /** What the engine says about the labels. */
  readonly error?: string | undefined;
}

/** Says which machine the labels lead to now, or why to none. */
function FitText({
  labels,
  machines,
}: {
  labels: readonly string[];
  machines: readonly Machine[];
}) {
  const { t } = useTranslation();
  const known = useKnown();
  const fit = fitOf(labels, machines);
  // Of machines that are not known nothing is said.
  if (known !== "read" && fit.kind !== "here") {
    return known === "failed" ? t("machines.failed") : null;
  }
  switch (fit.kind) {
    case "here":
      return t("runsOn.fitsHere");
    case "fits":
      return t("runsOn.fits", { name: fit.machine.name });
    case "held":
      return t(`runsOn.held.${fit.obstacle}`, {
        count: fit.machines.length,
        names: fit.machines.map(({ name }) => name).join(", "),
      });
    case "none":
      return machines.length === 0
        ? t("runsOn.noMachines")
        : t("runsOn.none", { count: labels.length, labels: labels.join(", ") });
  }
}

/** What can be picked instead of typed. */
function Known({
  machines,
  chosen,
  onToggle,
}: {
  machines: readonly Machine[];
  chosen: readonly string[];
  onToggle: (label: string) => void;
}) {
  const { t } = useTranslation();
  const { labels, names } = knownLabels(machines);
  if (names.length === 0) return null;
  const chip = (label: string, icon: ReactNode) => (
    <button
      key={label}
      type="button"
      className={styles.chip}
      aria-pressed={chosen.includes(label)}
      onClick={() => onToggle(label)}
    >
      {/* Colour is not all that tells a chosen one. */}
      {chosen.includes(label) ? <Check aria-hidden /> : icon}
      <span className={styles.text}>{label}</span>
    </button>
  );
  return (
    <div role="group" className={styles.known} aria-label={t("runsOn.known")}>
      {labels.map((label) => chip(label, <Tag aria-hidden />))}
      {names
        .filter((name) => !labels.includes(name))
        .map((name) => chip(name, <Server aria-hidden />))}
    </div>
  );
}

/** Where tasks run: on this computer, or on a machine that has all of some labels. */
export function RunsOnField({ value, onChange, inherited, error }: RunsOnFieldProps) {
  const { t } = useTranslation();
  const machines = useMachines();
  const [where, setWhere] = useState<Where>(() =>
    value === null ? "inherited" : value.length === 0 ? "here" : "labels",
  );
  const [text, setText] = useState(() => value?.join(", ") ?? "");
  const typed = labelsFrom(text);
  const choose = (next: Where) => {
    setWhere(next);
    onChange(next === "inherited" ? null : next === "here" ? [] : typed);
  };
  const type = (next: string) => {
    setText(next);
    onChange(labelsFrom(next));
  };
  const toggle = (label: string) =>
    type(
      (typed.includes(label) ? typed.filter((each) => each !== label) : [...typed, label]).join(
        ", ",
      ),
    );
  const options: SelectOption<Where>[] = [
    ...(inherited ? [{ value: "inherited" as const, label: inherited.from }] : []),
    { value: "here", label: t("runsOn.here") },
    { value: "labels", label: t("runsOn.byLabels") },
  ];
  const isEmpty = where === "labels" && typed.length === 0;
  const of = { inherited: inherited?.labels ?? null, here: [], labels: typed };
  const holding: readonly string[] | null = of[where];
  return (
    <Stack gap={2}>
      <Select<Where>
        label={t("runsOn.label")}
        value={where}
        options={options}
        error={where === "labels" ? undefined : error}
        onChange={choose}
      />
      {where === "labels" && (
        <>
          <TextField
            label={t("runsOn.labels")}
            hint={t("runsOn.labelsHint")}
            value={text}
            error={error}
            onChange={type}
          />
          <Known machines={machines} chosen={typed} onToggle={toggle} />
        </>
      )}
      {/* Always there, so that what changes in it is announced. */}
      <p className={layout.note} role="status">
        {where === "here" ? null : isEmpty ? (
          t("runsOn.noLabels")
        ) : holding === null ? (
          t("runsOn.perProject")
        ) : (
          <>
            {where === "inherited" && holding.length > 0 && `${holding.join(", ")}: `}
            <FitText labels={holding} machines={machines} />
          </>
        )}
      </p>
    </Stack>
  );
}
