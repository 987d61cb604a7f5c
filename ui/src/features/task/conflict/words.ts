/** What git calls a kind of conflict, in words. */
import type { TFunction } from "i18next";

const known = [
  "content",
  "add/add",
  "modify/delete",
  "rename/delete",
  "rename/rename",
  "file/directory",
  "type",
  "binary",
  "submodule",
  "other",
] as const;

type Kind = (typeof known)[number];

const keys = {
  content: "conflict.kind.content",
  "add/add": "conflict.kind.addAdd",
  "modify/delete": "conflict.kind.modifyDelete",
  "rename/delete": "conflict.kind.renameDelete",
  "rename/rename": "conflict.kind.renameRename",
  "file/directory": "conflict.kind.fileDirectory",
  type: "conflict.kind.type",
  binary: "conflict.kind.binary",
  submodule: "conflict.kind.submodule",
  other: "conflict.kind.other",
} as const satisfies Record<Kind, string>;

/** One that this page does not know is said as git says it. */
export function kindWords(kind: string, target: string, t: TFunction): string {
  const found = known.find((each) => each === kind);
  return found ? t(keys[found], { target }) : kind;
}
