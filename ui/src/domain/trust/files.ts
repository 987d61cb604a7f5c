/** What of a startup file is shown. Pure. */
import type { TrustFile } from "#ui/api/generated.ts";

export interface ShownLine {
  readonly text: string;
  readonly kind: "added" | "removed" | "place" | "same";
}

/** A file may have one content in a commit and another in a worktree. */
export const keyOf = ({ path, sha256 }: TrustFile): string => `${path} ${sha256 ?? ""}`;

/** The file to look at first: one that nobody trusted. */
export function startOf(files: readonly TrustFile[]): TrustFile | undefined {
  return files.find(({ accepted }) => !accepted) ?? files[0];
}

const kinds: Readonly<Record<string, ShownLine["kind"]>> = {
  "+": "added",
  "-": "removed",
  "@": "place",
};

/** The lines of the difference, or of the text where nothing else was trusted before; null for what is no text. */
export function linesOf(file: TrustFile): readonly ShownLine[] | null {
  const text = file.diff === "" ? file.content : file.diff;
  if (text === null) return null;
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.map((line) => ({
    text: line,
    kind: file.diff === "" ? "same" : (kinds[line.charAt(0)] ?? "same"),
  }));
}
