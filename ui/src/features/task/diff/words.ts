/** Where a comment stands and who wrote it, in words. */
import type { TFunction } from "i18next";
import type { Comment, DiffSide } from "#ui/api/generated.ts";
import { whole } from "../numbers.ts";
import { firstOf, lastOf, type Cursor } from "./cursor.ts";
import type { DiffRow } from "./hunks.ts";

/** "line 12", "lines 12 to 15", "line 12 of the old version". */
export function linesText(
  line: number,
  lastLine: number | null,
  side: DiffSide,
  t: TFunction,
): string {
  const last = lastLine ?? line;
  const lines =
    last === line
      ? t("comments.line", { line: whole(line) })
      : t("comments.lines", { line: whole(line), last: whole(last) });
  return side === "old" ? t("comments.oldVersion", { lines }) : lines;
}

/** Where it stands now, or where it stood when its lines are gone. */
export function whereText(comment: Comment, t: TFunction): string {
  const line = comment.now_line ?? comment.line;
  if (line === null) return t("comments.wholeFile");
  const last = comment.now_line === null ? comment.last_line : comment.now_last_line;
  return linesText(line, last, comment.side, t);
}

export function authorText({ source, author }: Comment, t: TFunction): string {
  if (source === "person") return author === "" ? t("task.you") : author;
  return author === "" ? t(`comments.source.${source}`) : author;
}

/** What assistive technology is told of the row that the keys have reached. */
export function lineSaid(rows: readonly DiffRow[], cursor: Cursor, t: TFunction): string {
  const row = rows[cursor.row];
  if (row?.type !== "line") return "";
  const { kind, text, old_no: oldNo, new_no: newNo } = row.line;
  const count = lastOf(cursor) - firstOf(cursor) + 1;
  const said = t(`comments.said.${kind}`, { line: whole(newNo ?? oldNo ?? 0), text });
  return count > 1 ? `${said} (${t("comments.rowsChosen", { count })})` : said;
}
