import { describe, expect, it } from "vitest";
import type { LogEntry } from "#ui/api/generated.ts";
import { someEntry } from "../testing/fixtures.ts";
import { foldEntries, isShown, mergeEntries, plainText } from "./log.ts";

const out = (seq: number, text: string, changes: Partial<LogEntry> = {}) =>
  someEntry(seq, { kind: "stdout", id: "", body: { text }, ...changes });
const shape = (entries: LogEntry[]) =>
  foldEntries(entries).map((row) =>
    row.type === "output" ? [row.stream, row.text] : [row.kind, row.status, row.body],
  );

describe("foldEntries", () => {
  it("puts the later entry with the same turn and id in the earlier one's place", () => {
    const running = someEntry(1, {
      id: "c",
      kind: "command",
      status: "running",
      body: { command: "ls" },
    });
    const done = {
      ...running,
      seq: 3,
      status: "completed" as const,
      body: { command: "ls", exit_code: 0 },
    };
    expect(shape([running, someEntry(2), done])).toEqual([
      ["command", "completed", { command: "ls", exit_code: 0 }],
      ["assistant_text", null, { text: "entry 2" }],
    ]);
  });

  it("tells the same id in another turn, and entries without one, apart", () => {
    const rows = foldEntries([
      someEntry(1, { id: "c" }),
      someEntry(2, { id: "c", turn: 2 }),
      someEntry(3, { id: "" }),
      someEntry(4, { id: "" }),
    ]);
    expect(new Set(rows.map(({ key }) => key)).size).toBe(4);
  });

  it("joins pieces of one message without a break", () => {
    expect(
      shape([
        someEntry(1, { id: "m", body: { text: "one ", partial: true } }),
        someEntry(2, { id: "m", body: { text: "two" } }),
      ]),
    ).toEqual([["assistant_text", null, { text: "one two" }]]);
  });

  it("gathers output, by the line unless a piece is partial, and by stream", () => {
    expect(
      shape([
        out(1, "a"),
        out(2, "b", { body: { text: "b", partial: true } }),
        out(3, "c"),
        out(4, "oops", { kind: "stderr" }),
        out(5, "d"),
      ]),
    ).toEqual([
      ["stdout", "a\nbc"],
      ["stderr", "oops"],
      ["stdout", "d"],
    ]);
  });

  it("keeps the edges of blocks when earlier entries are added", () => {
    const all = Array.from({ length: 200 }, (_, index) => out(index + 1, `line ${index + 1}`));
    const keys = (entries: LogEntry[]) => foldEntries(entries).map(({ key }) => key);
    const later = keys(all.slice(100));
    expect(keys(all).slice(-later.length + 1)).toEqual(later.slice(1));
    expect(plainText(foldEntries(all)).split("\n")).toHaveLength(200);
  });

  it("never breaks a partial line over two blocks", () => {
    const pieces = [39, 40, 41].map((seq) =>
      out(seq, String(seq), { body: { text: String(seq), partial: true } }),
    );
    expect(shape(pieces)).toEqual([["stdout", "394041"]]);
  });
});

describe("mergeEntries", () => {
  const seqs = (entries: readonly LogEntry[]) => entries.map(({ seq }) => seq);
  const known = [someEntry(4), someEntry(5)];

  it("adds what comes before and after, once", () => {
    expect(seqs(mergeEntries(known, [someEntry(2), someEntry(3), someEntry(4)]))).toEqual([
      2, 3, 4, 5,
    ]);
    expect(seqs(mergeEntries(known, [someEntry(5), someEntry(6)]))).toEqual([4, 5, 6]);
  });

  it("answers the same list when nothing is new", () => {
    expect(mergeEntries(known, [someEntry(5)])).toBe(known);
  });
});

describe("isShown", () => {
  it("hides what the section's head already tells", () => {
    const rows = foldEntries([
      someEntry(1, { kind: "session_started", body: {} }),
      someEntry(2, { kind: "turn_ended", body: {} }),
      someEntry(3, { kind: "turn_ended", body: { summary: "done" } }),
    ]);
    expect(rows.map(isShown)).toEqual([false, false, true]);
  });
});
