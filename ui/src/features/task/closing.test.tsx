import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import type { Task } from "#ui/api/generated.ts";
import { sampleWorkflowView } from "#ui/test/sample.ts";
import { someTask } from "./testing/fixtures.ts";
import { layOut, show } from "./testing/show.tsx";

layOut();

const moved = () => ({ task: someTask(), review: null, notice: null });

async function moveToDone(change: Partial<Task>) {
  const shown = show(
    { task: someTask(change) },
    { task_transition: moved, project_workflow_get: () => sampleWorkflowView },
  );
  await shown.user.click(await screen.findByRole("button", { name: /^State: / }));
  await shown.user.click(await screen.findByRole("menuitem", { name: "Done" }));
  return shown;
}

it("asks in the panel before work is left behind", async () => {
  const { sent, user } = await moveToDone({ unmerged_commits: 1 });
  const question = await screen.findByRole("alertdialog", { name: /^Merge #\d+ before closing/ });
  expect(sent("task_transition")).toEqual([]);
  await user.click(within(question).getByRole("button", { name: "Close without merging" }));
  expect(sent("task_transition")).toMatchObject([{ to: "done" }]);
});

it("calls nothing but giving up a task cancelling in the question that asks for it", async () => {
  const { user, sent } = show({
    task: someTask({
      offers: [{ verb: "cancel", label: "Cancel task", fields: [], why: "Gives the task up." }],
    }),
  });
  await user.click(await screen.findByRole("button", { name: "More actions" }));
  await user.click(await screen.findByRole("menuitem", { name: "Cancel task" }));
  const question = await screen.findByRole("alertdialog", { name: "Cancel task" });
  expect(within(question).queryByRole("button", { name: "Cancel" })).toBeNull();
  await user.click(within(question).getByRole("button", { name: "Keep task" }));
  expect(sent("task_action")).toEqual([]);
});

it("deletes a closed task after a question, and offers it of no other", async () => {
  const done = show(
    { task: someTask({ status: "done", version: 7 }) },
    { task_delete: () => ({ done: true }), project_workflow_get: () => sampleWorkflowView },
  );
  const ask = async () => {
    await done.user.click(await screen.findByRole("button", { name: "More actions" }));
    await done.user.click(await screen.findByRole("menuitem", { name: "Delete task" }));
    return within(await screen.findByRole("alertdialog", { name: "Delete #42?" }));
  };
  await done.user.click((await ask()).getByRole("button", { name: "Keep task" }));
  expect(done.sent("task_delete")).toEqual([]);
  await done.user.click((await ask()).getByRole("button", { name: "Delete task" }));
  expect(done.sent("task_delete")).toEqual([{ task_id: "t1", version: 7 }]);
  done.unmount();

  const open = show(
    { task: someTask({ status: "review" }) },
    { project_workflow_get: () => sampleWorkflowView },
  );
  await open.user.click(await screen.findByRole("button", { name: "More actions" }));
  await screen.findByRole("menuitem", { name: "Copy link" });
  expect(screen.queryByRole("menuitem", { name: "Delete task" })).toBeNull();
});
