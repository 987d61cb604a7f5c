import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import type { Task } from "#ui/api/generated.ts";
import { pageOf } from "#ui/test/answers.ts";
import { openApp } from "#ui/test/renderApp.tsx";
import { followRenders } from "#ui/test/rendered.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import "./BoardScreen.tsx";

let stop = () => {};
afterEach(() => stop());

const cardsIn = (commit: readonly string[]) => commit.filter((name) => name === "BoardCard").length;
const drawn = () => document.querySelectorAll("[data-task]").length;

/** A board of so many tasks, all in one column or spread over all, and given whole. */
async function open(count: number, where: "one column" | "all columns") {
  const host = createSampleHost(null, where === "all columns" ? count : 20);
  if (where === "one column") {
    const model = host.tasks.find(({ status }) => status === "todo");
    if (!model) throw new Error("a task is to do");
    const all: Task[] = Array.from({ length: count }, (_, index) => ({
      ...model,
      id: `n${index}`,
      number: 1_000 + index,
      title: `Task ${index}`,
    }));
    (host.tasks as Task[]).splice(0, host.tasks.length, ...all);
  }
  host.answer("task_list", ({ status }) =>
    pageOf(host.tasks.filter((task) => status?.includes(task.status))),
  );
  openApp(host, "#/board/p1");
  const todo = await screen.findByRole("list", { name: "Todo" });
  await waitFor(() => within(todo).getAllByRole("listitem"));
  const { commits, stop: end } = followRenders();
  stop = end;
  return { host, todo, commits };
}

it.each(["one column", "all columns"] as const)(
  "draws what is in sight of 10,000 tasks in %s",
  async (where) => {
    const { host, todo } = await open(10_000, where);
    expect(host.tasks.length).toBeGreaterThanOrEqual(10_000);
    expect(drawn()).toBeLessThan(where === "one column" ? 30 : 200);
    const size = Number(within(todo).getAllByRole("listitem")[0]?.getAttribute("aria-setsize"));
    expect(size).toBeGreaterThan(where === "one column" ? 9_999 : 1_000);
    todo.scrollTop = 100_000;
    fireEvent.scroll(todo);
    expect(drawn()).toBeLessThan(where === "one column" ? 30 : 200);
  },
);

/** Changes tasks that are in sight, in one batch of changes. */
async function change(host: Awaited<ReturnType<typeof open>>["host"], count: number) {
  const ids = [...document.querySelectorAll<HTMLElement>("[data-task]")].map(
    ({ dataset }) => dataset["task"] ?? "",
  );
  const title = `Changed ${count}`;
  const rest = host.tasks.filter(({ id }) => !ids.includes(id)).map(({ id }) => id);
  const changed = new Set([...ids, ...rest].slice(0, count));
  (host.tasks as Task[]).forEach((task, index) => {
    if (changed.has(task.id)) (host.tasks as Task[])[index] = { ...task, title };
  });
  await act(async () =>
    host.commit(...[...changed].map((id) => ({ task_id: id, tags: [`task:${id}`, "board:p1"] }))),
  );
  await waitFor(() => expect(screen.getAllByText(title).length).toBeGreaterThan(0));
  return Math.min(count, ids.length);
}

it("draws one card for one change among 10,000", async () => {
  const { host, commits } = await open(10_000, "one column");
  await change(host, 1);
  expect(commits.map(cardsIn).filter((cards) => cards > 0)).toEqual([1]);
});

it("draws once for a batch of 200 changes", async () => {
  const { host, commits } = await open(10_000, "one column");
  const inSight = await change(host, 200);
  expect(commits.map(cardsIn).filter((cards) => cards > 0)).toEqual([inSight]);
});
