/** The keys of the diff for the file that is being read, and for the search. */
import { useEffect, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { FileChange } from "#ui/api/generated.ts";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { showToast } from "#ui/components/Toast.tsx";
import { t as translate } from "#ui/i18n/index.ts";
import { preferences, setPreference } from "#ui/store/preferences.ts";

export interface FileKeys {
  /** The file that is being read. */
  readonly change: FileChange | undefined;
  readonly onFind: () => void;
  /** Undefined while nothing is found. */
  readonly onFindStep: ((way: 1 | -1) => void) | undefined;
  readonly onViewed: (change: FileChange) => void;
  /** Undefined where one file is shown alone. */
  readonly onFold: ((change: FileChange, folded: boolean) => void) | undefined;
  readonly isFolded: (change: FileChange) => boolean;
  /** Undefined when there is no worktree. */
  readonly onEditor: ((path: string) => void) | undefined;
  readonly onWhole: (path: string) => void;
}

const keys = {
  find: ["mod+f"],
  findNext: ["mod+g", "f3"],
  findPrevious: ["mod+shift+g", "shift+f3"],
  toggleViewed: ["v"],
  toggleFold: ["h"],
  openFile: ["shift+o"],
  copyPath: ["y"],
  wholeFile: ["u"],
  toggleLayout: ["s"],
  toggleOneFile: ["shift+l"],
} as const;

type Name = keyof typeof keys;
const names = Object.keys(keys) as Name[];

function copyPath(path: string): void {
  navigator.clipboard.writeText(path).then(
    () => showToast({ title: translate("diff.pathCopied") }),
    (thrown: unknown) =>
      showToast({ tone: "danger", title: translate("diff.pathNotCopied"), detail: String(thrown) }),
  );
}

function perform(name: Name, props: FileKeys): void {
  const { change, onFindStep, onFold, onEditor } = props;
  switch (name) {
    case "find":
      props.onFind();
      return;
    case "findNext":
    case "findPrevious":
      onFindStep?.(name === "findNext" ? 1 : -1);
      return;
    case "toggleLayout": {
      const isSplit = preferences.getState().diffStyle === "split";
      setPreference("diffStyle", isSplit ? "unified" : "split");
      return;
    }
    case "toggleOneFile":
      setPreference("diffOneFile", !preferences.getState().diffOneFile);
      return;
    default:
  }
  if (!change) return;
  if (name === "toggleViewed") props.onViewed(change);
  else if (name === "toggleFold") onFold?.(change, !props.isFolded(change));
  else if (name === "openFile") onEditor?.(change.path);
  else if (name === "copyPath") copyPath(change.path);
  else props.onWhole(change.path);
}

export function useFileKeys(props: FileKeys): void {
  const { t } = useTranslation();
  const { change, onFindStep, onFold, onEditor } = props;
  const latest = useRef(props);
  useEffect(() => {
    latest.current = props;
  });
  const file = change !== undefined;
  const step = onFindStep !== undefined;
  const fold = file && onFold !== undefined;
  const editor = file && onEditor !== undefined;
  const commands = useMemo<Command[]>(() => {
    const enabled: Partial<Record<Name, boolean>> = {
      findNext: step,
      findPrevious: step,
      toggleViewed: file,
      toggleFold: fold,
      openFile: editor,
      copyPath: file,
      wholeFile: file,
    };
    return names.map((name) => ({
      id: `diff.key.${name}`,
      label: t(`diff.key.${name}`),
      group: t("task.tab.diff"),
      keys: keys[name],
      enabled: enabled[name] ?? true,
      run: () => perform(name, latest.current),
    }));
  }, [t, file, step, fold, editor]);
  useCommands(commands);
}
