/** The entries of a menu in the command palette, too, while its owner is there. */
import { useEffect, useMemo, useRef } from "react";
import type { MenuEntry } from "#ui/components/Menu.tsx";
import { useCommands, type Command } from "./keys.ts";

type Run = () => void;
type Found = Omit<Command, "group" | "run"> & { readonly run: Run };

/** Those of a submenu bear its name: "Move to: Done". */
function flat(entries: readonly MenuEntry[], prefix: string): readonly Found[] {
  return entries.flatMap((entry): readonly Found[] => {
    if (entry.kind === "submenu") return flat(entry.entries, `${prefix}${entry.label}: `);
    if (entry.kind !== undefined && entry.kind !== "item") return [];
    const { id, label, disabled = false, onSelect } = entry;
    return [{ id, label: `${prefix}${label}`, enabled: !disabled, run: onSelect }];
  });
}

export function useMenuCommands(
  prefix: string,
  group: string,
  entries: readonly MenuEntry[],
): void {
  const found = flat(entries, "");
  const latest = useRef(found);
  useEffect(() => {
    latest.current = found;
  });
  // Entries are made anew whenever their owner is drawn; commands change when what is said does.
  const said = JSON.stringify(found.map(({ id, label, enabled }) => [id, label, enabled]));
  const commands = useMemo(
    () =>
      (JSON.parse(said) as [string, string, boolean][]).map(([id, label, enabled]): Command => ({
        id: `${prefix}.${id}`,
        label,
        group,
        enabled,
        run: () => latest.current.find((each) => each.id === id)?.run(),
      })),
    [prefix, group, said],
  );
  useCommands(commands);
}
