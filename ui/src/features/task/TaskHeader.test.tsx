import { screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { someTask } from "./testing/fixtures.ts";
import { layOut, refuse, show } from "./testing/show.tsx";

layOut();

describe("header", () => {
  it("starts the work with the agent that holds it", async () => {
    const { sent, user } = show(
      { task: someTask({ status: "todo" }) },
      { task_claim: () => someTask() },
    );
    const [start] = await screen.findAllByRole("button", { name: "Start" });
    if (start) await user.click(start);
    expect(sent("task_claim")).toEqual([{ task_id: "t1", agent_id: "a1", version: 7 }]);
  });

  it("says in place why the engine refused", async () => {
    const { user } = show(
      { task: someTask({ status: "todo" }) },
      { task_claim: refuse("agent_paused", "failed to start: the agent is paused") },
    );
    const [start] = await screen.findAllByRole("button", { name: "Start" });
    if (start) await user.click(start);
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain("the agent is paused");
    expect(alert.textContent).toContain("Do this instead.");
  });

  it("edits the title in place: Enter keeps, Escape gives up", async () => {
    const { sent, user } = show({ task: someTask() }, { task_update: () => someTask() });
    await user.click(await screen.findByRole("button", { name: "Rate-limit the login endpoint" }));
    await user.keyboard(" now{Escape}");
    expect(sent("task_update")).toEqual([]);
    await user.click(screen.getByRole("button", { name: "Rate-limit the login endpoint" }));
    await user.keyboard(" now{Enter}");
    await waitFor(() =>
      expect(sent("task_update")).toEqual([
        { task_id: "t1", version: 7, title: "Rate-limit the login endpoint now" },
      ]),
    );
  });

  it("gives a role to another and moves the task", async () => {
    const { sent, user } = show(
      { task: someTask() },
      {
        task_assign: () => someTask(),
        task_transition: () => ({ task: someTask(), review: null }),
      },
    );
    await user.click(await screen.findByRole("button", { name: "Reviewer: Unassigned" }));
    await user.click(await screen.findByRole("menuitem", { name: "You" }));
    expect(sent("task_assign")).toEqual([
      { task_id: "t1", role: "reviewer", holder: "user", version: 7 },
    ]);
    await user.click(await screen.findByRole("button", { name: "State: In progress" }));
    await user.click(await screen.findByRole("menuitem", { name: "Todo" }));
    expect(sent("task_transition")).toEqual([
      { task_id: "t1", to: "todo", version: 7, wait: "none" },
    ]);
  });
});
