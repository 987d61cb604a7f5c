import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { Waiting } from "#ui/api/generated.ts";
import { pageOf } from "#ui/test/answers.ts";
import { sampleMachines } from "#ui/test/sampleMachines.ts";
import { sampleGiveUp } from "#ui/test/samplePlacedTasks.ts";
import { someExecution, someTask, someWorkspace } from "./testing/fixtures.ts";
import { layOut, show, violations } from "./testing/show.tsx";

layOut();

const machine_list = () => pageOf(sampleMachines("machines"));
const waiting = (reason: Waiting["reason"], message: string): Waiting => ({
  reason,
  message,
  until: null,
  files: [],
});
const cutOff = () =>
  show(
    {
      task: someTask({
        workspace: someWorkspace({ machine_id: "m2" }),
        waiting: waiting("machine_unreachable", "waits for attic: not reachable since 18:04"),
        offers: [
          sampleGiveUp,
          { verb: "hold", label: "Hold", fields: [], why: "" },
          { verb: "cancel", label: "Cancel task", fields: [], why: "" },
        ],
      }),
    },
    { machine_list },
  );

describe("the head of a task", () => {
  it("names the machine with its contact", async () => {
    const { container } = cutOff();
    const chip = await screen.findByRole("group", { name: "On attic" });
    expect(chip.textContent).toMatch(/^attic, Not reachable since /);
    expect(await violations(container)).toEqual([]);
  });

  it("names none on this computer, or once the worktree is gone", async () => {
    const gone = someWorkspace({ machine_id: "m2", status: "cleaned" });
    show({ task: someTask({ workspace: gone }) }, { machine_list });
    await screen.findByRole("button", { name: /^Priority/ });
    expect(screen.queryByRole("group", { name: /^On / })).toBeNull();
  });
});

it("names the machine beside the place of the worktree", async () => {
  const { user } = cutOff();
  await user.click(await screen.findByRole("tab", { name: "Workspace" }));
  const term = await screen.findByText("Runs on", { selector: "dt" });
  expect(term.nextElementSibling?.textContent).toMatch(/^attic, Not reachable since /);
});

it("names the machine at the head of the run", async () => {
  show({ task: someTask(), executions: [someExecution({ machine_id: "m1" })] }, { machine_list });
  const run = (await screen.findByRole("heading", { name: /Codex local|Claude/ })).closest(
    "section",
  )!;
  await waitFor(() => expect(run.textContent).toContain("gpu-box, Connected since"));
});

describe("waiting for a machine", () => {
  it.each<[Waiting["reason"], "status" | "alert", string]>([
    ["no_machine", "alert", "No machine fits"],
    ["machine_busy", "status", "Queued for a machine"],
    ["machine_unreachable", "alert", "Machine not reachable"],
    ["job_pending", "status", "Queued on the cluster"],
    ["machine_disk_full", "alert", "Machine disk full"],
  ])("%s is a matter of %s, with the reason", async (reason, role, name) => {
    show({ task: someTask({ waiting: waiting(reason, "Why it waits.") }) }, { machine_list });
    const banner = await screen.findByRole(role, { name });
    expect(banner.textContent).toContain("Why it waits.");
  });
});

describe("giving a machine up", () => {
  it("says what is lost and what is kept before it is done", async () => {
    const { sent, user, container } = cutOff();
    const banner = await screen.findByRole("alert", { name: "Machine not reachable" });
    await user.click(within(banner).getByRole("button", { name: "Give up machine" }));
    const dialog = await screen.findByRole("alertdialog", { name: "Give up attic?" });
    expect(dialog.textContent).toContain("Lost: changes the agent made there");
    expect(dialog.textContent).toContain("Kept: the task's branch as last fetched");
    expect(dialog.textContent).toContain("backs up anything newer that it has");
    expect(await violations(container)).toEqual([]);
    expect(sent("task_action")).toEqual([]);
    await user.click(within(dialog).getByRole("button", { name: "Give up machine" }));
    await waitFor(() =>
      expect(sent("task_action")).toMatchObject([{ task_id: "t1", verb: "give_up_machine" }]),
    );
  });

  it("says of a job that has not begun that nothing is lost", async () => {
    const message =
      "waits for hpc: Could not start job 7 yet: the resources that it requests are not free.";
    const { sent, user, container } = show(
      {
        task: someTask({
          workspace: someWorkspace({ machine_id: "m5" }),
          waiting: waiting("job_pending", message),
          offers: [sampleGiveUp],
        }),
      },
      { machine_list },
    );
    const banner = await screen.findByRole("status", { name: "Queued on the cluster" });
    expect(banner.textContent).toContain(message);
    expect(banner.querySelector("svg.lucide-calendar-clock")).not.toBeNull();
    await user.click(within(banner).getByRole("button", { name: "Give up machine" }));
    const dialog = await screen.findByRole("alertdialog", { name: "Give up hpc?" });
    expect(dialog.textContent).toContain("Nothing is lost, because the job has not started.");
    expect(dialog.textContent).not.toContain("Lost:");
    expect(await violations(container)).toEqual([]);
    await user.click(within(dialog).getByRole("button", { name: "Give up machine" }));
    await waitFor(() =>
      expect(sent("task_action")).toMatchObject([{ task_id: "t1", verb: "give_up_machine" }]),
    );
  });

  it("is not done by whoever cancels", async () => {
    const { sent, user } = cutOff();
    await user.click(await screen.findByRole("button", { name: "Give up machine" }));
    const dialog = await screen.findByRole("alertdialog");
    await user.click(within(dialog).getByRole("button", { name: "Cancel" }));
    await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
    expect(sent("task_action")).toEqual([]);
  });
});
