import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { Approval } from "#ui/api/generated.ts";
import { badgeOf, sampleRace } from "#ui/test/sampleRaces.ts";
import { sampleApproval } from "#ui/test/sampleRuns.ts";
import { someEntry, someExecution, someTask, someWorkspace } from "../testing/fixtures.ts";
import { layOut, refuse, show, violations, type Answers } from "../testing/show.tsx";

layOut();

const live = {
  execution_id: "e1",
  agent_id: "a1",
  role: "coder",
  activity: "Waiting for an answer",
  started_at: "2026-01-01T00:00:00Z",
};
const at = "2030-01-01T00:00:00Z";

function ask(approvals: Approval[], more: Answers = {}) {
  return show(
    {
      task: someTask({ workspace: someWorkspace(), live }),
      executions: [someExecution({ status: "waiting", finished_at: null })],
      entries: approvals.map(({ ask: id, title, asked_at }, index) =>
        someEntry(index + 1, {
          id,
          at: Date.parse(asked_at),
          kind: "approval_request",
          status: "running",
          body: { text: title },
        }),
      ),
    },
    {
      approval_list: () => ({ items: approvals, next_cursor: null }),
      approval_answer: () => approvals[0],
      ...more,
    },
  );
}
const card = () => screen.findByRole("region", { name: "Approval: npm install left-pad" });

describe("a question that waits", () => {
  it("stands in the banner and at the live end, with what it is about", async () => {
    const { container } = ask([sampleApproval({ asked_at: at })]);
    const shown = await card();
    expect(shown.textContent).toContain("Claude wants to run a command");
    expect(shown.textContent).toContain("It needs the network.");
    expect(shown.textContent).toContain("/home/me/worktrees/t1");
    expect(
      within(within(shown).getByRole("group", { name: "Answers" }))
        .getAllByRole("button")
        .map(({ textContent }) => textContent),
    ).toEqual(["AllowY", "Allow for this session2", "DeclineN", "Decline and stop4"]);
    const banner = screen.getByRole("alert", { name: "The agent needs your approval" });
    expect(banner.textContent).toContain("npm install left-pad");
    expect(await violations(container)).toEqual([]);
  });

  it("shows a change as a diff", async () => {
    ask([
      sampleApproval({
        kind: "file_change",
        title: "Change a.ts",
        detail: { paths: ["a.ts"], diff: "@@ -1 +1 @@\n-old line\n+new line\n" },
      }),
    ]);
    const change = await screen.findByLabelText("Proposed change");
    expect(change.textContent).toContain("old line");
    expect(change.textContent).toContain("new line");
  });

  it("is answered by a button, with a note", async () => {
    const { user, sent } = ask([sampleApproval()]);
    const shown = await card();
    await user.type(within(shown).getByRole("textbox", { name: "Note to the agent" }), "ny 1 ");
    expect(sent("approval_answer")).toEqual([]);
    await user.click(within(shown).getByRole("button", { name: /^Decline ?N/ }));
    expect(sent("approval_answer")).toEqual([
      { execution_id: "e1", approval_id: "q1", option: "decline", note: "ny 1" },
    ]);
  });

  it("is answered by a key with the focus in it, which `q` gives", async () => {
    const { user, sent, dropKeys } = ask([sampleApproval()]);
    const shown = await card();
    await user.keyboard("q");
    await waitFor(() => expect(document.activeElement).toBe(shown));
    await user.keyboard("y");
    await waitFor(() =>
      expect(sent("approval_answer")).toEqual([
        { execution_id: "e1", approval_id: "q1", option: "accept" },
      ]),
    );
    dropKeys();
  });

  it("takes one answer while it is sent", async () => {
    let done: (answer: unknown) => void = () => {};
    const { user, sent } = ask([sampleApproval()], {
      approval_answer: () => new Promise((resolve) => (done = resolve)),
    });
    const shown = await card();
    await user.click(within(shown).getByRole("button", { name: /^Allow ?Y/ }));
    for (const button of within(within(shown).getByRole("group", { name: "Answers" })).getAllByRole(
      "button",
    )) {
      expect(button.hasAttribute("disabled")).toBe(true);
    }
    shown.focus();
    await user.keyboard("n");
    expect(sent("approval_answer")).toHaveLength(1);
    done(null);
    await waitFor(() => expect(shown.getAttribute("aria-busy")).toBeNull());
  });

  it("says that it is no longer open, and reads it again", async () => {
    const { user, sent } = ask([sampleApproval()], {
      approval_answer: refuse("not_awaiting", "failed to answer: the question is answered already"),
    });
    const shown = await card();
    const before = sent("approval_list").length;
    await user.click(within(shown).getByRole("button", { name: /^Allow ?Y/ }));
    expect(await screen.findByText("This request is no longer open")).toBeTruthy();
    await waitFor(() => expect(sent("approval_list").length).toBeGreaterThan(before));
  });
});

it("folds an answered one to a line: what, who, and the note", async () => {
  ask([
    sampleApproval({
      asked_at: at,
      status: "answered",
      answer: "decline",
      note: "Not needed",
      answered_by: "user:board",
      answered_at: "2030-01-01T00:01:00Z",
    }),
  ]);
  const line = await screen.findByText("npm install left-pad");
  const row = line.closest("p");
  expect(row?.textContent).toMatch(/^The agent's request: npm install left-padDeclineNot needed/);
  expect(row?.textContent).toContain("You (board) · ");
  expect(screen.queryByRole("region", { name: "Pending approvals" })).toBeNull();
});

describe("a question of a race's entry", () => {
  it("stands in the raced task's banner and in its race, and is answered there", async () => {
    const race = sampleRace({
      status: "running",
      winner: null,
      elected: null,
      decidedBy: null,
      trail: [],
    });
    const asked = sampleApproval({
      task_id: "t1-cheap",
      raced: { task_id: "t1", name: "cheap" },
      asked_at: at,
    });
    const { user, sent } = show(
      { task: someTask({ workspace: null, live: null, raced: badgeOf(race) }) },
      {
        approval_list: () => ({ items: [asked], next_cursor: null }),
        approval_answer: () => asked,
        task_races: () => ({ items: [race], next_cursor: null }),
      },
    );
    const banner = await screen.findByRole("alert", { name: "The agent needs your approval" });
    expect(banner.textContent).toContain("cheap: npm install left-pad");
    await user.click(within(banner).getByRole("button", { name: /^Answer/ }));
    const question = await card();
    expect(question.textContent).toContain("Claude wants to run a command cheap");
    await waitFor(() => expect(document.activeElement).toBe(question));
    await user.click(within(question).getByRole("button", { name: /^Allow Y|^AllowY/ }));
    await waitFor(() =>
      expect(sent("approval_answer")).toEqual([
        { execution_id: "e1", approval_id: "q1", option: "accept" },
      ]),
    );
  });
});
