import { expect, it } from "vitest";
import { sampleTask } from "#ui/test/sample.ts";
import {
  anchorOf,
  cardsBetween,
  isNoMove,
  keyboardStep,
  neighbourCard,
  nextSlot,
  placeAt,
  slotAt,
  withPending,
  type DragKey,
  type PendingMove,
} from "./order.ts";

const ids = (text: string) => [...text].map((id) => ({ id }));
const set = (text: string) => new Set(text);
const sizes = { row: 100, gap: 8, padding: 8 };

it.each<[number, number]>([
  [-50, 0],
  [8, 0],
  [57, 0],
  [59, 1],
  [115, 1],
  [166, 2],
  [9_999, 3],
])("finds the slot nearest to %d px", (offset, slot) => {
  expect(slotAt(offset, 3, sizes)).toBe(slot);
});

it.each<[string, number, string, object]>([
  ["abc", 0, "", { before_id: "a" }],
  ["abc", 1, "", { before_id: "b", after_id: "a" }],
  ["abc", 3, "", { after_id: "c" }],
  ["abc", 1, "b", { before_id: "c", after_id: "a" }],
  ["abcd", 2, "bc", { before_id: "d", after_id: "a" }],
  ["a", 1, "a", {}],
  ["", 0, "x", {}],
])("in %j at %d with %j moving", (items, slot, moved, place) => {
  expect(placeAt(ids(items), slot, set(moved))).toEqual(place);
});

it("names one neighbour to the engine", () => {
  expect(anchorOf({ before_id: "b", after_id: "a" })).toEqual({ before_id: "b" });
  expect(anchorOf({ after_id: "a" })).toEqual({ after_id: "a" });
  expect(anchorOf({})).toEqual({});
});

it.each<[string, number, string, boolean]>([
  ["abc", 1, "b", true],
  ["abc", 2, "b", true],
  ["abc", 0, "b", false],
  ["abcd", 3, "bc", true],
  ["abcd", 2, "bd", false],
  ["abc", 1, "x", false],
])("in %j at %d with %j: no move is %s", (items, slot, moved, expected) => {
  expect(isNoMove(ids(items), slot, set(moved))).toBe(expected);
});

it("steps over the slots that are the lifted card's own place", () => {
  expect(nextSlot(ids("abc"), 0, 1, set("a"))).toBe(2);
  expect(nextSlot(ids("abc"), 2, -1, set("a"))).toBe(1);
  expect(nextSlot(ids("abc"), 3, 1, set("a"))).toBe(3);
});

const columns = [
  { name: "Todo", items: ids("abc"), open: true },
  { name: "Doing", items: ids("d"), open: false },
  { name: "Review", items: ids(""), open: true },
  { name: "Done", items: ids("efgh"), open: true },
];

it.each<[string, DragKey, string]>([
  ["Todo:2", "ArrowRight", "Review:0"],
  ["Done:3", "ArrowLeft", "Review:0"],
  ["Review:0", "ArrowLeft", "Todo:0"],
  ["Todo:1", "ArrowLeft", "Todo:1"],
  ["Done:1", "ArrowDown", "Done:2"],
  ["Done:0", "ArrowUp", "Done:0"],
  ["Done:1", "End", "Done:4"],
  ["Done:3", "Home", "Done:0"],
])("from %s by %s to %s, past closed columns", (from, key, to) => {
  const [column = "", slot] = from.split(":");
  const next = keyboardStep(columns, { column, slot: Number(slot) }, key, set("b"));
  expect(`${next.column}:${next.slot}`).toBe(to);
});

it.each<[string, DragKey, string | null]>([
  ["a", "ArrowDown", "b"],
  ["a", "ArrowUp", null],
  ["c", "ArrowRight", "d"],
  ["d", "ArrowRight", "e"],
  ["h", "ArrowLeft", "d"],
  ["h", "Home", "e"],
  ["nothing", "ArrowDown", "a"],
])("goes from card %s by %s to %s", (from, key, to) => {
  expect(neighbourCard(columns, from, key)).toBe(to);
});

it("selects a stretch of one column", () => {
  expect(cardsBetween(ids("abcd"), "c", "a")).toEqual(["a", "b", "c"]);
  expect(cardsBetween(ids("abcd"), "x", "b")).toEqual(["b"]);
});

it("shows moves that are under way, and leaves other columns as they were read", () => {
  const tasks = ["a", "b", "c"].map((id) => sampleTask({ id, status: "todo" }));
  const moved = sampleTask({ id: "m", status: "backlog" });
  const move = (change: Partial<PendingMove>): ReadonlyMap<string, PendingMove> =>
    new Map([["m", { task: moved, column: "Todo", to: "todo", place: {}, ...change }]]);
  const shown = (pending: ReadonlyMap<string, PendingMove>, read = tasks) =>
    withPending("Todo", read, pending)
      .map(({ id }) => id)
      .join("");

  expect(withPending("Todo", tasks, new Map())).toBe(tasks);
  expect(shown(move({}))).toBe("abcm");
  expect(shown(move({ place: { before_id: "b", after_id: "a" } }))).toBe("ambc");
  expect(shown(move({ place: { after_id: "b" } }))).toBe("abmc");
  expect(shown(move({ column: "Done" }), [...tasks, moved])).toBe("abc");
  expect(withPending("Todo", tasks, move({})).at(-1)?.status).toBe("todo");
});

it("shows a task once though two pages brought it", () => {
  const twice = sampleTask({ id: "a" });
  expect(withPending("Todo", [twice, twice], new Map())).toHaveLength(1);
});
