import { describe, expect, it } from "vitest";
import type { Execution, LogEntry } from "#ui/api/generated.ts";
import { someEntry, someExecution } from "../testing/fixtures.ts";
import { addPage, rowsOf } from "./conversation.ts";
import { foldEntries, type EntryRow } from "./log.ts";

const entries = (list: LogEntry[]) =>
  foldEntries(list).filter((row): row is EntryRow => row.type === "entry");

describe("questions", () => {
  it("take their answer in, wherever it came", () => {
    const rows = entries([
      someEntry(1, { id: "q", kind: "approval_request", status: "running", body: { text: "rm" } }),
      someEntry(2),
      someEntry(3, {
        id: "q:answer",
        parent_id: "q",
        turn: 2,
        kind: "approval_resolved",
        status: "declined",
        body: { answer: "no" },
      }),
    ]);
    expect(rows.map(({ kind }) => kind)).toEqual(["approval_request", "assistant_text"]);
    expect(rows[0]).toMatchObject({
      status: "declined",
      body: { text: "rm", answer: "no", answered_at: 3_000 },
    });
  });

  it("keep an answer whose question is not read yet", () => {
    const rows = entries([
      someEntry(3, { id: "q:answer", parent_id: "q", kind: "approval_resolved" }),
    ]);
    expect(rows.map(({ kind }) => kind)).toEqual(["approval_resolved"]);
  });
});

describe("usage", () => {
  const used = (seq: number, turn: number, body: Record<string, unknown>) =>
    someEntry(seq, { id: "", turn, kind: "usage", body });

  it("is one row a turn: classes and costs summed, models named once", () => {
    const rows = entries([
      used(1, 1, { model: "m", input_uncached: 10, output: 1, cost_micro_usd: null }),
      someEntry(2),
      used(3, 1, { model: "m", input_uncached: 5, cache_read: 7, output: 2, cost_micro_usd: 40 }),
      used(4, 2, { model: "n", input_uncached: 1 }),
    ]);
    expect(rows.map(({ kind, turn }) => [kind, turn])).toEqual([
      ["assistant_text", 1],
      ["usage", 1],
      ["usage", 2],
    ]);
    expect(rows[1]?.body).toEqual({
      input_uncached: 15,
      cache_read: 7,
      cache_write: 0,
      output: 3,
      reasoning: 0,
      cost_micro_usd: 40,
      model: "m",
    });
    expect(new Set(rows.map(({ key }) => key)).size).toBe(3);
  });
});

describe("a sub-agent's entries", () => {
  const list = [
    someEntry(1, { id: "agent", kind: "tool_call", body: { name: "Agent" } }),
    someEntry(2, { id: "own" }),
    someEntry(3, { id: "look", parent_id: "agent", kind: "tool_call", body: { name: "Read" } }),
    someEntry(4, { id: "deep", parent_id: "look" }),
    someEntry(5, { id: "lost", parent_id: "nobody" }),
  ];

  it("stand behind it, as deep as they belong", () => {
    expect(entries(list).map(({ id, depth, parts }) => [id, depth, parts])).toEqual([
      ["agent", 0, 1],
      ["look", 1, 1],
      ["deep", 2, 0],
      ["own", 0, 0],
      ["lost", 0, 0],
    ]);
  });

  it("never vanish in a circle", () => {
    const circle = [
      someEntry(1, { id: "a", parent_id: "b" }),
      someEntry(2, { id: "b", parent_id: "a" }),
      someEntry(3, { id: "c", parent_id: "c" }),
    ];
    expect(
      entries(circle)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(["a", "b", "c"]);
  });

  it("are put away with what they belong to", () => {
    const execution: Execution = someExecution();
    const page = { entries: list, first_seq: 1, last_seq: 5, total: 5 };
    const stretches = new Map([["e1", addPage(undefined, page)]]);
    const shown = (closed: string[]) =>
      rowsOf([execution], stretches, new Set(closed)).map(({ key }) => key);
    expect(shown([])).toHaveLength(6);
    expect(shown(["e1:1:agent"])).toEqual(["head:e1", "e1:1:agent", "e1:1:own", "e1:1:lost"]);
  });
});

it("marks where another turn begins", () => {
  const list = [someEntry(1), someEntry(2, { turn: 2 }), someEntry(3, { turn: 2 })];
  const page = { entries: list, first_seq: 1, last_seq: 3, total: 3 };
  const rows = rowsOf([someExecution()], new Map([["e1", addPage(undefined, page)]]));
  expect(rows.map(({ key }) => key)).toEqual([
    "head:e1",
    "e1:1:i1",
    "turn:e1:2",
    "e1:2:i2",
    "e1:2:i3",
  ]);
});

it("leaves out a summary that only repeats the last words", () => {
  const ended = (summary: string) => [
    someEntry(1, { body: { text: "It is done.\n" } }),
    someEntry(2, { kind: "turn_ended", body: { summary } }),
  ];
  expect(entries(ended("It is done.")).map(({ kind }) => kind)).toEqual(["assistant_text"]);
  expect(entries(ended("Tests pass.")).map(({ kind }) => kind)).toEqual([
    "assistant_text",
    "turn_ended",
  ]);
});
