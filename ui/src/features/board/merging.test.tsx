import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import "./BoardScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import { openApp } from "#ui/test/renderApp.tsx";
import { sampleWorkflowView } from "#ui/test/sample.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";

const apart = new Map([
  ["merging", "Merging"],
  ["merge_failed", "Merge failed"],
]);

it("shows Merging and Merge failed apart from Review where the workflow gives each a column", async () => {
  const host = createSampleHost(null, 40);
  const { workflow } = sampleWorkflowView;
  const states = workflow.states.map((state) => ({
    ...state,
    column: apart.get(state.name) ?? state.column,
  }));
  host.answer("project_workflow_get", {
    ...sampleWorkflowView,
    workflow: { ...workflow, states },
  });
  host.change("t1", { status: "merging", title: "On its way" });
  host.change("t2", { status: "merge_failed", title: "Stuck on its way" });
  const names = [...new Set(states.map(({ column }) => column))];
  host.answer("project_board", {
    columns: names.map((name) => {
      const inside = states.filter(({ column }) => column === name).map((state) => state.name);
      return {
        name,
        states: inside,
        drop_state: inside[0] ?? "",
        hidden: false,
        count: host.tasks.filter(({ status }) => inside.includes(status)).length,
      };
    }),
  });
  openApp(host, "#/board/p1");
  const column = (name: string) => screen.findByRole("list", { name });
  expect(within(await column("Merging")).getByText("On its way")).toBeTruthy();
  expect(within(await column("Merge failed")).getByText("Stuck on its way")).toBeTruthy();
  expect(within(await column("Review")).queryByText(/on its way/i)).toBeNull();
});
