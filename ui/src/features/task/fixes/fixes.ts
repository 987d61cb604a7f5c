/** Drafted fixes as the tab shows them: what is under way, what was before, the rows of a patch. Pure. */
import type { DiffLine, FixDraft, FixProposal, Fixes, FixStatus } from "#ui/api/generated.ts";
import type { DiffRow } from "../diff/hunks.ts";

/** Those that somebody may still do something with. */
export const openCount = (fixes: Fixes | undefined): number =>
  fixes?.proposals.filter(({ status }) => status === "drafted").length ?? 0;

export const hasFixes = (fixes: Fixes | undefined): boolean =>
  fixes !== undefined && fixes.proposals.length + fixes.drafts.length > 0;

export const canApply = (status: FixStatus): boolean => status === "drafted";
export const canRollBack = (status: FixStatus): boolean =>
  status === "applied" || status === "verified";

export type Entry =
  | { readonly type: "fix"; readonly key: string; readonly at: string; readonly fix: FixProposal }
  | { readonly type: "draft"; readonly key: string; readonly at: string; readonly draft: FixDraft };

export interface Listed {
  /** What is drafted now, waits or is checked, and whatever became of the newest one. */
  readonly now: readonly Entry[];
  /** All that was before. */
  readonly earlier: readonly Entry[];
}

const isUnderWay = (entry: Entry): boolean =>
  entry.type === "fix"
    ? entry.fix.status === "drafted" || entry.fix.status === "applied"
    : entry.draft.status === "drafting";

/** The newest first. What led to a proposal is told by it. */
export function listed({ proposals, drafts }: Fixes): Listed {
  const entries: Entry[] = [
    ...proposals.map((fix) => ({
      type: "fix" as const,
      key: fix.fixId,
      at: fix.createdAt,
      fix,
    })),
    ...drafts
      .filter(({ status }) => status !== "drafted")
      .map((draft) => ({
        type: "draft" as const,
        key: draft.reviewId,
        at: draft.startedAt,
        draft,
      })),
  ];
  const sorted = entries.toSorted((one, other) => other.at.localeCompare(one.at));
  const isNow = (entry: Entry, index: number) => index === 0 || isUnderWay(entry);
  return {
    now: sorted.filter(isNow),
    earlier: sorted.filter((entry, index) => !isNow(entry, index)),
  };
}

const head = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/;
const kinds = { " ": "context", "+": "added", "-": "removed" } as const;

/** The rows of a patch of one file. */
export function rowsOf(patch: string): readonly DiffRow[] {
  const rows: DiffRow[] = [];
  let at: { old: number; new: number } | null = null;
  let last: { -readonly [Key in keyof DiffLine]: DiffLine[Key] } | null = null;
  for (const text of patch.replace(/\n$/, "").split("\n")) {
    const hunk = head.exec(text);
    if (hunk) {
      at = { old: Number(hunk[1]), new: Number(hunk[2]) };
      rows.push({ type: "gap", header: hunk[3] ?? "", oldNo: at.old, newNo: at.new });
      continue;
    }
    if (!at) continue;
    if (text.startsWith("\\")) {
      if (last) last.no_newline = true;
      continue;
    }
    const kind = kinds[text.charAt(0) as keyof typeof kinds] ?? "context";
    last = {
      kind,
      old_no: kind === "added" ? null : at.old,
      new_no: kind === "removed" ? null : at.new,
      text: text.slice(1),
      no_newline: false,
    };
    if (kind !== "added") at.old += 1;
    if (kind !== "removed") at.new += 1;
    rows.push({ type: "line", line: last });
  }
  return rows;
}
