/** Where the person is among the changed files, and the steps from there. */
import { useMemo, useState, type RefObject } from "react";
import { useTranslation } from "react-i18next";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { stepTo } from "./hunks.ts";
import type { ChangesHandle } from "./view.ts";

export interface Navigation {
  readonly path: string | null;
  readonly choose: (path: string) => void;
  /** What is being read by itself, from where it was scrolled to. */
  readonly reach: (path: string) => void;
  readonly nextFile: () => void;
  readonly previousFile: () => void;
  readonly nextChange: () => void;
  readonly previousChange: () => void;
}

/** The file before or after another one. */
export function beside(paths: readonly string[], path: string | null, step: 1 | -1): string | null {
  const next = stepTo(path === null ? null : paths.indexOf(path), step, paths.length);
  return next === null ? null : (paths[next] ?? null);
}

export function useNavigation(
  paths: readonly string[],
  first: string | null,
  isOne: boolean,
  view: RefObject<ChangesHandle | null>,
): Navigation {
  const [reached, setReached] = useState<string | null>(null);
  const path = reached !== null && paths.includes(reached) ? reached : first;
  return useMemo(() => {
    const choose = (next: string) => {
      setReached(next);
      if (!isOne) view.current?.toFile(next);
    };
    const stepFile = (step: 1 | -1) => {
      const next = beside(paths, path, step);
      if (next !== null) choose(next);
    };
    return {
      path,
      choose,
      reach: setReached,
      nextFile: () => stepFile(1),
      previousFile: () => stepFile(-1),
      nextChange: () => view.current?.stepChange(1),
      previousChange: () => view.current?.stepChange(-1),
    };
  }, [path, paths, isOne, view]);
}

export function useDiffKeys(navigation: Navigation): void {
  const { t } = useTranslation();
  const commands = useMemo<Command[]>(
    () =>
      (
        [
          ["nextChange", "j"],
          ["previousChange", "k"],
          ["nextFile", "n"],
          ["previousFile", "p"],
        ] as const
      ).map(([name, key]) => ({
        id: `diff.${name}`,
        label: t(`diff.${name}`),
        group: t("task.tab.diff"),
        keys: [key],
        run: navigation[name],
      })),
    [t, navigation],
  );
  useCommands(commands);
}
