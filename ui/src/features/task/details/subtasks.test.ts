import { describe, expect, it } from "vitest";
import { sampleTask } from "#ui/test/sample.ts";
import { inOrder, moved, pausedPart } from "./subtasks.ts";

const inTurn = (id: string, order: number | null, number = 1) =>
  sampleTask({ id, number, execution_mode: "ordered_turn", subtask_order: order });
const own = (id: string, number: number) => sampleTask({ id, number });
const ids = (tasks: readonly { readonly id: string }[]) => tasks.map(({ id }) => id);

it("lists those that run in turn by their turn, then the others by number", () => {
  const parts = [own("late", 9), inTurn("second", 2), own("early", 3), inTurn("first", 1)];
  expect(ids(inOrder(parts))).toEqual(["first", "second", "early", "late"]);
});

describe("a part's change of place", () => {
  const turns = (change: ReturnType<typeof moved>) =>
    change.map(({ task, order }) => [task.id, order]);
  const three = [inTurn("a", 10), inTurn("b", 20), inTurn("c", 30)];

  it("is an exchange of two turns", () => {
    expect(turns(moved(three, "c", -1))).toEqual([
      ["c", 20],
      ["b", 30],
    ]);
    expect(turns(moved(three, "a", 1))).toEqual([
      ["b", 10],
      ["a", 20],
    ]);
  });

  it("is nothing at the ends, and for one that has no turn", () => {
    expect(moved(three, "a", -1)).toEqual([]);
    expect(moved(three, "c", 1)).toEqual([]);
    expect(moved([...three, own("d", 4)], "d", -1)).toEqual([]);
  });

  it("numbers anew what was not well numbered", () => {
    const parts = [inTurn("a", 1, 1), inTurn("b", 1, 2), inTurn("c", null, 3)];
    expect(turns(moved(parts, "b", -1))).toEqual([
      ["a", 2],
      ["c", 3],
    ]);
  });
});

describe("the part at which a sequence stopped", () => {
  const parts = [inTurn("done", 1), inTurn("next", 2), inTurn("last", 3), own("other", 9)];
  const isClosed = ({ id }: { id: string }) => id === "done";

  it("is the one the engine names, else the first open one", () => {
    expect(pausedPart(parts, { subtask_id: "last" }, isClosed)?.id).toBe("last");
    expect(pausedPart(parts, null, isClosed)?.id).toBe("next");
    expect(pausedPart([own("other", 9)], null, isClosed)).toBeUndefined();
  });
});
