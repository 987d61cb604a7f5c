import { expect, it } from "vitest";
import { contentOf, isDatabase } from "./file.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

it.each([
  ["a text", "- [ ] Prüfen\n", { text: "- [ ] Prüfen\n" }, false],
  ["a text that names the format", "See SQLite format 3", { text: "See SQLite format 3" }, false],
  ["nothing", "", { text: "" }, false],
  ["a database", "SQLite format 3\0\u0001", { data: btoa("SQLite format 3\0\u0001") }, true],
])("%s is sent as it is", (_, written, content, database) => {
  expect(contentOf(bytesOf(written))).toEqual(content);
  expect(isDatabase(contentOf(bytesOf(written)))).toBe(database);
});
