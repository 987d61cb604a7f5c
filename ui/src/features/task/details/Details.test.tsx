import { screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { someTask } from "../testing/fixtures.ts";
import { layOut, refuse, show } from "../testing/show.tsx";

layOut();

describe("details", () => {
  it("shows in place that a dependency would close a circle", async () => {
    const { user } = show(
      { task: someTask({ status: "todo" }) },
      {
        task_list: () => ({
          items: [someTask({ id: "t9", number: 9, title: "Log in", status: "todo" })],
          next_cursor: null,
        }),
        task_dependency_add: refuse("dependency_cycle", "failed to add: #42 -> #9 -> #42"),
      },
    );
    await user.click(await screen.findByRole("button", { name: "Add dependency" }));
    await user.type(
      await screen.findByRole("combobox", { name: "Find a task by number or title" }),
      "#9",
    );
    await user.click(await screen.findByRole("option", { name: "#9 Log in" }));
    expect(await screen.findByText("failed to add: #42 -> #9 -> #42")).toBeTruthy();
  });

  it("keeps own checks, one a line, and shows the prompt", async () => {
    const { sent, user } = show(
      { task: someTask({ status: "todo" }) },
      { task_update: () => someTask() },
    );
    await user.click(await screen.findByRole("button", { name: "Edit checks" }));
    const box = screen.getByRole("textbox", { name: "Checks" });
    await user.clear(box);
    await user.type(box, "make{Enter}make lint");
    await user.click(screen.getByRole("button", { name: "Save" }));
    expect(sent("task_update")).toEqual([
      { task_id: "t1", version: 7, review_config: { ci_steps: ["make", "make lint"] } },
    ]);
    await user.click(screen.getByRole("button", { name: "Preview prompt" }));
    expect(await screen.findByText("You are working on task 42.")).toBeTruthy();
  });
});
