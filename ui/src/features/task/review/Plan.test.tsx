import { screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { sampleWorkspace } from "#ui/test/sample.ts";
import { someTask, someWorkflow } from "../testing/fixtures.ts";
import { layOut, show, violations } from "../testing/show.tsx";

layOut();

const planned = {
  ...someWorkflow,
  workflow: {
    ...someWorkflow.workflow,
    states: someWorkflow.workflow.states.map((state) => ({
      ...state,
      hooks: {
        ...state.hooks,
        before_exit: [
          {
            action: "require_plan_complete" as const,
            params: null,
            applies_to: "all" as const,
            on_failure: null,
          },
        ],
      },
    })),
  },
};

describe("the plan", () => {
  it("is shown, changed by hand and saved", async () => {
    let text = "First the **tests**.";
    const { container, sent, user, platform } = show(
      { task: someTask({ workspace: sampleWorkspace() }) },
      {
        project_workflow_get: () => planned,
        task_plan: () => ({ text, path: "/w/plan.md", written_at: "2026-01-02T10:00:00Z" }),
        task_plan_put: ({ text: next }: { text: string }) => {
          text = next;
          return { text, path: "/w/plan.md", written_at: "2026-01-02T10:01:00Z" };
        },
      },
    );
    await user.click(await screen.findByRole("tab", { name: /Review/ }));
    const plan = await screen.findByRole("region", { name: "Plan" });
    await waitFor(() => expect(plan.querySelector("strong")?.textContent).toBe("tests"));
    expect(await violations(container)).toEqual([]);

    await user.click(screen.getByRole("button", { name: "Edit plan" }));
    const field = screen.getByRole("textbox", { name: "Plan text in Markdown" });
    await user.clear(field);
    await user.type(field, "By hand.");
    await user.click(screen.getByRole("button", { name: "Save plan" }));
    platform.commit({ tags: ["task:t1"] });
    await waitFor(() => expect(plan.textContent).toContain("By hand."));
    expect(sent("task_plan_put")).toEqual([{ task_id: "t1", text: "By hand." }]);
  });

  it("is not spoken of where nobody plans", async () => {
    const { user } = show(
      { task: someTask({ workspace: sampleWorkspace() }) },
      { task_plan: () => ({ text: "", path: "/w/plan.md", written_at: null }) },
    );
    await user.click(await screen.findByRole("tab", { name: /Review/ }));
    await screen.findByText("No review yet");
    expect(screen.queryByRole("region", { name: "Plan" })).toBeNull();
  });
});
