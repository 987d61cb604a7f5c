import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { Task } from "#ui/api/generated.ts";
import { sampleTask } from "#ui/test/sample.ts";
import { someTask } from "./testing/fixtures.ts";
import { layOut, refuse, show, violations } from "./testing/show.tsx";

layOut();

const part = (number: number, change: Partial<Task> = {}) =>
  sampleTask({
    id: `t${number}`,
    number,
    title: `Part ${number}`,
    version: number,
    parent_id: "t1",
    execution_mode: "ordered_turn",
    subtask_order: number - 50,
    ...change,
  });
const parts = [
  part(51, {
    status: "done",
    commit_result: { kind: "forge_commit", before: "9f4c1d27ab", after: "1f2e3d4c5b" },
  }),
  part(52, { status: "in_progress" }),
  part(53),
  part(54, { execution_mode: "independent", subtask_order: null }),
];
const parent = someTask({ status: "todo", subtasks: { closed: 1, total: 4 } });
const rows = () => within(screen.getByRole("list", { name: "Subtasks" })).getAllByRole("listitem");

describe("subtasks", () => {
  it("stand in their order, with where each works and how it was committed", async () => {
    const { container } = show({ task: parent, relatives: parts });
    await screen.findByRole("link", { name: /Part 51/ });
    expect(screen.getByRole("button", { name: /Subtasks/ }).textContent).toContain("1 of 4");
    expect(rows().map((row) => row.textContent)).toEqual([
      "1#51Part 51Committed by ForgeShared worktree, in order",
      "2#52Part 52Shared worktree, in order",
      "3#53Part 53Shared worktree, in order",
      "#54Part 54Own worktree",
    ]);
    expect(await violations(container)).toEqual([]);
  });

  it("change places by button and by key, and the focus goes along", async () => {
    let listed = parts;
    const { sent, user, platform } = show(
      { task: parent, relatives: parts },
      {
        task_subtasks: () => ({ items: listed, next_cursor: null }),
        task_update: ({
          task_id: id,
          subtask_order: order,
        }: {
          task_id: string;
          subtask_order: number;
        }) => {
          listed = listed.map((each) =>
            each.id === id ? { ...each, subtask_order: order, version: each.version + 1 } : each,
          );
          return listed[0];
        },
      },
    );
    await user.click(await screen.findByRole("button", { name: "Move #53 up" }));
    await waitFor(() =>
      expect(sent("task_update")).toEqual([
        { task_id: "t53", version: 53, subtask_order: 2 },
        { task_id: "t52", version: 52, subtask_order: 3 },
      ]),
    );
    platform.commit({ tags: ["task:t1"] });
    await waitFor(() => expect(rows()[1]?.textContent).toContain("Part 53"));
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Move #53 up");

    screen.getByRole("link", { name: /Part 53/ }).focus();
    await user.keyboard("{Alt>}{ArrowDown}{/Alt}");
    await waitFor(() => expect(sent("task_update")).toHaveLength(4));
    platform.commit({ tags: ["task:t1"] });
    await waitFor(() => expect(rows()[2]?.textContent).toContain("Part 53"));
    expect(document.activeElement?.textContent).toContain("Part 53");
    const first = screen.getByRole("button", { name: "Move #51 up" });
    expect(first.getAttribute("aria-disabled")).toBe("true");
  });

  it("are read again when one of them changes", async () => {
    let listed = parts;
    const { platform } = show(
      { task: parent, relatives: parts },
      { task_subtasks: () => ({ items: listed, next_cursor: null }) },
    );
    await screen.findByRole("link", { name: /Part 52/ });
    listed = parts.map((each) => (each.number === 52 ? { ...each, status: "done" } : each));
    platform.commit({ tags: ["task:t52", "board:p1"] });
    await waitFor(() =>
      expect(screen.getByRole("button", { name: /Subtasks/ }).textContent).toContain("2 of 4"),
    );
  });

  it("are closed by hand through the moves that a part that runs in turn knows", async () => {
    const { sent, user } = show(
      { task: parent, relatives: parts },
      { task_transition: () => ({ task: parts[1], review: null }) },
    );
    await user.click(await screen.findByRole("button", { name: "Move #52 to…" }));
    const offered = await screen.findAllByRole("menuitem");
    expect(offered.map((each) => each.textContent)).toEqual(["Todo", "Cancelled"]);
    await user.click(screen.getByRole("menuitem", { name: "Cancelled" }));
    expect(sent("task_transition")).toEqual([
      { task_id: "t52", to: "cancelled", version: 52, wait: "none" },
    ]);
  });

  it("are added one after the other, in turn where an agent does the work", async () => {
    const { sent, user } = show(
      { task: someTask({ status: "todo" }) },
      { task_create: () => parts[0] },
    );
    await user.click(await screen.findByRole("button", { name: "Add subtask" }));
    await user.type(screen.getByRole("textbox", { name: "Subtask title" }), "One{Enter}");
    await waitFor(() => expect(sent("task_create")).toHaveLength(1));
    await user.click(screen.getByRole("radio", { name: "Own worktree" }));
    await user.type(screen.getByRole("textbox", { name: "Subtask title" }), "Two{Enter}");
    await waitFor(() =>
      expect(sent("task_create")).toEqual([
        { project_id: "p1", title: "One", parent_id: "t1", execution_mode: "ordered_turn" },
        { project_id: "p1", title: "Two", parent_id: "t1", execution_mode: "independent" },
      ]),
    );
  });

  it("say in place why one was not added", async () => {
    const { user } = show(
      { task: someTask({ status: "todo" }) },
      { task_create: refuse("parent_workspace_required", "failed to add: #42 has no worktree") },
    );
    await user.click(await screen.findByRole("button", { name: "Add subtask" }));
    const title = screen.getByRole("textbox", { name: "Subtask title" });
    await user.type(title, "One{Enter}");
    expect(await screen.findByText("failed to add: #42 has no worktree")).toBeTruthy();
    expect((title as HTMLInputElement).value).toBe("One");
  });

  it("have none of their own, and lead to what they are part of", async () => {
    show({
      task: someTask({ status: "todo", parent_id: "t9" }),
      relatives: [sampleTask({ id: "t9", number: 9, title: "The whole" })],
    });
    const link = await screen.findByRole("link", { name: "Subtask of #9 The whole" });
    expect(link.getAttribute("href")).toBe("#/task/p1/9");
    expect(screen.queryByRole("button", { name: "Add subtask" })).toBeNull();
  });
});

describe("what it waits for", () => {
  it("is listed with its state, found by searching, and removed", async () => {
    const other = sampleTask({ id: "t8", number: 8, title: "Design it" });
    const found = sampleTask({ id: "t9", number: 9, title: "Agree on it" });
    const { sent, user } = show(
      {
        task: someTask({ status: "todo", depends_on: ["t8"], blocked_by: ["t8"] }),
        relatives: [other],
      },
      {
        task_list: () => ({ items: [other, found], next_cursor: null }),
        task_dependency_add: () => someTask(),
        task_dependency_remove: () => someTask(),
      },
    );
    expect(await screen.findByRole("link", { name: /Design it/ })).toBeTruthy();
    await user.click(screen.getByRole("button", { name: "Add dependency" }));
    await user.type(
      await screen.findByRole("combobox", { name: "Find a task by number or title" }),
      "#9",
    );
    const options = await screen.findAllByRole("option");
    expect(options.map((option) => option.textContent)).toEqual(["#9 Agree on it"]);
    expect(sent("task_list").at(-1)).toMatchObject({ project_id: "p1", q: "9" });
    await user.click(screen.getByRole("option", { name: "#9 Agree on it" }));
    await waitFor(() =>
      expect(sent("task_dependency_add")).toEqual([{ task_id: "t1", depends_on: "t9" }]),
    );
    await user.click(screen.getByRole("button", { name: "Remove dependency on 8" }));
    expect(sent("task_dependency_remove")).toEqual([{ task_id: "t1", depends_on: "t8" }]);
  });
});
