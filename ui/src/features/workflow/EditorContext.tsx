import { createContext, use } from "react";
import type { Finding, Workflow } from "#ui/api/generated.ts";
import { saidAt } from "#ui/draft/findings.ts";
import { clearAt, formatPath, getAt, setAt, type Path } from "#ui/draft/path.ts";

/** A place to go to; a new object goes there again. */
export interface Target {
  readonly path: string;
}

export interface Editor {
  readonly projectId: string;
  readonly workflow: Workflow;
  readonly readOnly: boolean;
  readonly findings: readonly Finding[];
  /** Edits of one group in a row are undone together. */
  readonly edit: (next: unknown, group?: string) => void;
  /** The state whose form is open. */
  readonly open: number | null;
  readonly setOpen: (index: number | null) => void;
  readonly target: Target | null;
  readonly goTo: (path: string) => void;
}

const Context = createContext<Editor | null>(null);
export const EditorProvider = Context;

export function useEditor(): Editor {
  const editor = use(Context);
  if (!editor) throw new Error("failed to find the draft: no EditorProvider above");
  return editor;
}

/** One place of the definition: its value, what is wrong with it, and the way to change it. */
export function usePlace(path: Path) {
  const { workflow, findings, edit } = useEditor();
  const place = formatPath(path);
  return {
    place,
    value: getAt(workflow, path),
    error: saidAt(findings, place),
    set: (value: unknown) => edit(setAt(workflow, path, value), place),
    clear: () => edit(clearAt(workflow, path), place),
  };
}
