/** Changed files as a tree: folders first, chains of single folders in one row. Pure. */
import type { FileChange } from "#ui/api/generated.ts";

export interface FolderRow {
  readonly type: "folder";
  readonly key: string;
  readonly name: string;
  readonly depth: number;
}

export interface FileRow {
  readonly type: "file";
  readonly key: string;
  readonly name: string;
  readonly depth: number;
  readonly change: FileChange;
}

export type TreeRow = FolderRow | FileRow;

interface Folder {
  readonly folders: Map<string, Folder>;
  readonly files: FileChange[];
}

const newFolder = (): Folder => ({ folders: new Map(), files: [] });

export function matching(files: readonly FileChange[], filter: string): readonly FileChange[] {
  const wanted = filter.trim().toLowerCase();
  if (wanted === "") return files;
  return files.filter(
    ({ path, old_path: old }) =>
      path.toLowerCase().includes(wanted) || (old?.toLowerCase().includes(wanted) ?? false),
  );
}

function build(files: readonly FileChange[]): Folder {
  const root = newFolder();
  for (const file of files) {
    let folder = root;
    for (const part of file.path.split("/").slice(0, -1)) {
      let next = folder.folders.get(part);
      if (!next) {
        next = newFolder();
        folder.folders.set(part, next);
      }
      folder = next;
    }
    folder.files.push(file);
  }
  return root;
}

export function treeRows(
  files: readonly FileChange[],
  closed: ReadonlySet<string>,
): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const walk = (folder: Folder, path: string, depth: number) => {
    const byName = [...folder.folders].sort(([one], [other]) => (one < other ? -1 : 1));
    for (const [first, child] of byName) {
      let name = first;
      let inner = child;
      while (inner.files.length === 0 && inner.folders.size === 1) {
        const [only] = inner.folders;
        if (!only) break;
        name = `${name}/${only[0]}`;
        inner = only[1];
      }
      const key = `${path}${name}/`;
      rows.push({ type: "folder", key, name, depth });
      if (!closed.has(key)) walk(inner, key, depth + 1);
    }
    for (const change of folder.files) {
      const name = change.path.slice(change.path.lastIndexOf("/") + 1);
      rows.push({ type: "file", key: change.path, name, depth, change });
    }
  };
  walk(build(files), "", 0);
  return rows;
}

/** The files in the order in which the whole tree shows them: what "next file" steps through. */
export function fileOrder(files: readonly FileChange[]): readonly FileChange[] {
  return treeRows(files, new Set()).flatMap((row) => (row.type === "file" ? [row.change] : []));
}

/** What to open with: the first file that a person wrote and can read. */
export function firstToRead(files: readonly FileChange[]): string | null {
  const readable = files.find(({ binary, generated }) => !binary && !generated);
  return (readable ?? files[0])?.path ?? null;
}
