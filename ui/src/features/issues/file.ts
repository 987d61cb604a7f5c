/** Files with issues, as the engine takes them: text, and a database as bytes. Pure. */
import type { ImportFile } from "#ui/api/generated.ts";
import { base64Of } from "#ui/domain/base64.ts";

export type FileContent = Required<Pick<ImportFile, "text">> | Required<Pick<ImportFile, "data">>;

/** How a database of SQLite begins. */
const sqlite = "SQLite format 3";

export const isDatabase = (content: FileContent | null): boolean =>
  content !== null && "data" in content;

export function contentOf(bytes: Uint8Array): FileContent {
  const head = String.fromCharCode(...bytes.subarray(0, sqlite.length));
  return head === sqlite ? { data: base64Of(bytes) } : { text: new TextDecoder().decode(bytes) };
}
