/** What a hook has printed so far, from the entries of its log. Pure. */
import type { LogEntry } from "#ui/api/generated.ts";
import { isTree } from "#ui/draft/path.ts";

export function printedIn(entries: readonly LogEntry[]): string {
  return entries
    .filter(({ kind }) => kind === "stdout" || kind === "stderr")
    .map(({ body }) => {
      if (!isTree(body)) return "";
      const text = body["text"] ?? body["text_head"];
      return typeof text === "string" ? text : "";
    })
    .map((text) => (text === "" || text.endsWith("\n") ? text : `${text}\n`))
    .join("");
}
