import { screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { Debrief } from "#ui/api/generated.ts";
import { sampleFailure, sampleNote, samplePostmortem } from "#ui/test/sampleTeaching.ts";
import { someTask, someWorkspace } from "../testing/fixtures.ts";
import { layOut, refuse, show, violations, type Answers } from "../testing/show.tsx";
import { gateName, hasDebrief, newestFirst } from "./debrief.ts";

layOut();
beforeEach(() => {
  location.hash = "";
});

const shown = (debrief: Partial<Debrief>, more: Answers = {}) =>
  show(
    { task: someTask({ status: "done", workspace: someWorkspace() }) },
    { task_debrief: () => ({ note: null, postmortems: [], ...debrief }), ...more },
  );

async function opened(debrief: Partial<Debrief>, more: Answers = {}) {
  const shownOne = shown(debrief, more);
  await shownOne.user.click(await screen.findByRole("tab", { name: "Debrief" }));
  return shownOne;
}

const rowsOf = (caption: string): (string | null)[][] =>
  within(screen.getByRole("table", { name: caption }))
    .getAllByRole("row")
    .slice(1)
    .map((row) => [...row.children].map(({ textContent }) => textContent));

describe("what a task left behind", () => {
  it("has a tab only where there is something", async () => {
    shown({});
    await screen.findByRole("tab", { name: "Timeline" });
    expect(screen.queryByRole("tab", { name: "Debrief" })).toBeNull();
  });

  it("is the note in its agent's words, with who said it and whether there was more", async () => {
    const { container } = await opened({ note: sampleNote({ is_cut: true, agent_id: "gone" }) });
    const note = screen.getByRole("region", { name: "Task note" });
    expect(note.textContent).toContain("By A deleted agent,");
    expect(await within(note).findByText("rename")).toBeTruthy();
    expect(within(note).getByText("The note was cut at 500 words.")).toBeTruthy();
    expect(await violations(container)).toEqual([]);
  });

  it("is a postmortem: what failed first, what it took, attempts, gates, entries", async () => {
    const { container } = await opened({ postmortems: [samplePostmortem()] });
    const first = screen.getByRole("region", { name: "First failure" });
    expect(first.textContent).toBe(
      "First failurecargo test --workspace in attempt 1src/cache.rs:41: expected `Option<Instant>`, found `Instant`",
    );
    expect(screen.getByText("$0.43, 1 run of unknown cost")).toBeTruthy();
    expect(rowsOf("Attempts")).toEqual([
      ["1", "cargo test --workspace", "2", "6m 12s", "42s", "$0.21"],
      ["2", "Passed", "1", "1m 35s", "1m 01s", "Unknown"],
    ]);
    expect(rowsOf("Checks and reviews")).toEqual([
      ["cargo fmt --check", "2", "0"],
      ["cargo test --workspaceFlapping", "1", "1"],
      ["Reviewer agent", "1", "0"],
    ]);
    expect(rowsOf("Race entries")).toEqual([
      ["cheap", "Passed", "3m 04s", "$0.02"],
      ["broken", "cargo test --workspace", "1m 30s", "Unknown"],
    ]);
    expect(await violations(container)).toEqual([]);
  });

  it("opens the newest of several", async () => {
    const early = samplePostmortem({ number: 1, cause: "gate_failed" });
    await opened({ postmortems: [early, samplePostmortem()] });
    const parts = screen.getAllByRole("group");
    expect(parts.map((part) => part.hasAttribute("open"))).toEqual([true, false]);
    expect(parts[0]?.textContent).toContain("Postmortem 2The task was closed,");
  });

  it("says that it could not be read", async () => {
    location.hash = "#/task/p1/1?tab=debrief";
    let isBroken = false;
    const answer = () =>
      isBroken ? refuse("io", "the disk is gone")() : { note: sampleNote(), postmortems: [] };
    const { platform } = await opened({}, { task_debrief: answer });
    isBroken = true;
    platform.commit({ tags: ["task:t1"] });
    expect(await screen.findByText("Task note")).toBeTruthy();
  });
});

it("knows gates by their names, and the newest record first", () => {
  expect(gateName("person")).toEqual({ type: "person" });
  expect(gateName("make test")).toEqual({ type: "check", command: "make test" });
  const numbers = [1, 3, 2].map((number) => samplePostmortem({ number }));
  expect(newestFirst(numbers).map(({ number }) => number)).toEqual([3, 2, 1]);
  expect(hasDebrief({ note: null, postmortems: [] })).toBe(false);
  expect(hasDebrief(undefined)).toBe(false);
  expect(sampleFailure().strategy).toBeNull();
});
