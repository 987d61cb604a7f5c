import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import type { Task } from "#ui/api/generated.ts";
import { inputsOf, openApp } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import "./BoardScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.

async function moveToDone(change: Partial<Task>, column = "done") {
  const host = createSampleHost(null, 40);
  host.change("t1", { status: "blocked", live: null, review: null, ...change });
  openApp(host, "#/board/p1");
  const card = await screen.findByRole("button", { name: /^#1 / });
  act(() => card.focus());
  await userEvent.keyboard("m");
  await userEvent.type(await screen.findByRole("combobox"), `${column}{Enter}`);
  return host;
}

const question = () => screen.findByRole("alertdialog", { name: "Merge #1 before closing it?" });
const answer = async (name: string) =>
  userEvent.click(within(await question()).getByRole("button", { name }));
const to = (state: string) => ({ task_id: "t1", to: state, version: 1, wait: "none" });

it.each([
  ["Merge", "merging"],
  ["Close without merging", "done"],
])("asks before work is left behind, and takes %s for an answer", async (name, state) => {
  const host = await moveToDone({ unmerged_commits: 2 });
  expect((await question()).textContent).toContain("2 commits are not in the target branch.");
  expect(inputsOf(host, "task_move")).toEqual([]);
  await answer(name);
  await waitFor(() => expect(inputsOf(host, "task_move")).toMatchObject([to(state)]));
});

it("leaves the card where it is when nothing is chosen", async () => {
  const host = await moveToDone({ unmerged_commits: 2 });
  await answer("Cancel");
  await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
  expect(inputsOf(host, "task_move")).toEqual([]);
});

it("asks nothing where there is nothing to merge", async () => {
  const host = await moveToDone({ unmerged_commits: 0, diff_stat: null });
  await waitFor(() => expect(inputsOf(host, "task_move")).toMatchObject([to("done")]));
  expect(screen.queryByRole("alertdialog")).toBeNull();
});

it("marks a task that was closed without a merge otherwise than a merged one", async () => {
  const host = createSampleHost(null, 40);
  const done = host.tasks.filter(({ status }) => status === "done");
  for (const task of done) host.change(task.id, { closed_unmerged: false, unmerged_commits: 0 });
  host.change(done[0]?.id ?? "", { closed_unmerged: true });
  openApp(host, "#/board/p1");
  const column = await screen.findByRole("list", { name: "Done" });
  await within(column).findByText("Closed without merging");
  const tones = within(column)
    .getAllByRole("img", { name: "Done" })
    .map((glyph) => glyph.dataset["tone"]);
  expect(tones.filter((tone) => tone === "warning")).toHaveLength(1);
  expect(tones).toContain("success");
});

it("says on each blocked card why its own guard stopped it", async () => {
  const host = createSampleHost(null, 40);
  const reasons = ["Conflict markers are left in src/main.rs.", "The plan is missing."];
  const blocked = host.tasks.filter(({ status }) => status === "todo").slice(0, 2);
  blocked.forEach(({ id }, index) =>
    host.change(id, {
      status: "blocked",
      error_annotation: {
        type: "guard_rejected",
        from_state: "in_progress",
        message: reasons[index] ?? "",
        details: null,
        execution_id: null,
        evidence: null,
        at: "2026-01-01T00:00:00Z",
      },
    }),
  );
  openApp(host, "#/board/p1");
  for (const reason of reasons) expect(await screen.findByText(reason)).toBeTruthy();
});
