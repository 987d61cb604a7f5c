import { describe, expect, it } from "vitest";
import type { LogEntry } from "#ui/api/generated.ts";
import { pageOf, someEntry, someExecution } from "../testing/fixtures.ts";
import { earlierThan, inOrder, keptOfEnd, rowsOf } from "./conversation.ts";
import { createLogStore, type PageRequest } from "./logStore.ts";

function someLog(length: number) {
  const entries: LogEntry[] = [];
  const grow = (count: number) => {
    for (let index = 0; index < count; index += 1) entries.push(someEntry(entries.length + 1));
  };
  grow(length);
  const asked: PageRequest[] = [];
  const store = createLogStore(async (_, request) => {
    asked.push(request);
    return pageOf(entries, request);
  });
  const seqs = () =>
    store.state
      .getState()
      .get("e1")
      ?.entries.map(({ seq }) => seq) ?? [];
  return { store, asked, grow, seqs };
}

const upTo = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe("log store", () => {
  it("opens at the end and reads backwards to the beginning", async () => {
    const { store, seqs } = someLog(450);
    await store.follow("e1");
    expect(seqs()).toEqual(upTo(251, 450));
    expect(store.state.getState().get("e1")?.complete).toBe(false);
    await store.earlier("e1", 251);
    await store.earlier("e1", 51);
    expect(seqs()).toEqual(upTo(1, 450));
    expect(store.state.getState().get("e1")?.complete).toBe(true);
  });

  it("asks only for what follows the last entry", async () => {
    const { store, asked, grow, seqs } = someLog(10);
    await store.follow("e1");
    asked.length = 0;
    grow(410);
    expect(await store.follow("e1")).toBe(420);
    expect(asked.map(({ after }) => after)).toEqual([10, 210, 410]);
    expect(seqs()).toEqual(upTo(1, 420));
  });

  it("starts afresh at the end when it is far behind", async () => {
    const { store, grow, seqs } = someLog(10);
    await store.follow("e1");
    grow(5_000);
    await store.follow("e1");
    expect(seqs()).toEqual(upTo(4_811, 5_010));
  });

  it("keeps the end alone of what is watched, and all of what is read back", async () => {
    const { store, grow, seqs } = someLog(10);
    await store.follow("e1");
    store.reading("e1");
    let most = 0;
    for (let batch = 0; batch < 100; batch += 1) {
      grow(500);
      await store.follow("e1");
      most = Math.max(most, seqs().length);
    }
    expect(most).toBeLessThanOrEqual(2 * keptOfEnd);
    expect(seqs().at(-1)).toBe(50_010);
    expect(store.state.getState().get("e1")?.complete).toBe(false);
    // Whoever reads back meets no gap, and nothing is taken away meanwhile.
    store.reading(null);
    const first = seqs()[0] ?? 0;
    await store.earlier("e1", first);
    grow(3_000);
    for (let page = 0; page < 20; page += 1) await store.earlier("e1", seqs()[0] ?? 0);
    expect(seqs()).toEqual(upTo(seqs()[0] ?? 0, 50_010));
    expect(seqs().length).toBeGreaterThan(2 * keptOfEnd);
  });

  it("takes answers in any order without doubles", async () => {
    const { store, grow, seqs } = someLog(100);
    await store.follow("e1");
    grow(50);
    await Promise.all([store.follow("e1"), store.follow("e1"), store.earlier("e1", 101)]);
    expect(seqs()).toEqual(upTo(1, 150));
  });

  it("is complete when there is nothing", async () => {
    const { store } = someLog(0);
    await store.follow("e1");
    expect(store.state.getState().get("e1")).toMatchObject({ complete: true, last: 0 });
  });
});

describe("conversation rows", () => {
  const older = someExecution({ id: "e0", started_at: "2026-01-01T10:00:00Z" });
  const newer = someExecution({ id: "e1", started_at: "2026-01-01T11:00:00Z" });
  const executions = inOrder([newer, older]);

  it("goes back through the newest execution before the one before it", async () => {
    const { store } = someLog(300);
    expect(earlierThan(executions, new Map())).toEqual({ execution: newer, before: null });
    await store.follow("e1");
    expect(earlierThan(executions, store.state.getState())).toEqual({
      execution: newer,
      before: 101,
    });
    await store.earlier("e1", 101);
    expect(earlierThan(executions, store.state.getState())).toEqual({
      execution: older,
      before: null,
    });
  });

  it("heads an execution only once its beginning is there", async () => {
    const { store } = someLog(300);
    await store.follow("e1");
    expect(rowsOf(executions, store.state.getState())[0]?.type).toBe("log");
    await store.earlier("e1", 101);
    const rows = rowsOf(executions, store.state.getState());
    expect(rows[0]).toMatchObject({ type: "head", execution: newer, empty: false });
    expect(rows).toHaveLength(301);
  });
});
