import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { IterationState, LogEvents } from "#ui/api/generated.ts";
import { sampleAttempt, sampleFound, sampleInput } from "#ui/test/sampleValidate.ts";
import { someReview, someTask, someWorkspace } from "../testing/fixtures.ts";
import { layOut, refuse, show, violations, type Answers } from "../testing/show.tsx";
import { counted, draftOf, inputOf, modulesOf, whyOf } from "./validate.ts";

layOut();
beforeEach(() => {
  location.hash = "";
});

const workspace = someWorkspace();
const task = someTask({ workspace });
const place = { project_id: task.project_id, cwd: workspace.path };
const module = { moduleId: task.id, runId: null };

const kept = (change: Partial<IterationState> = {}): IterationState => ({
  moduleId: task.id,
  runId: null,
  attempts: [
    sampleAttempt({ attempt: 1, score: 0.25, failures: ["a", "b"] }),
    sampleAttempt({
      attempt: 2,
      score: 0.2,
      failures: ["a", "b", "c"],
      sameAsPrev: true,
      stagnant: true,
      recommendation: "ESCALATE",
    }),
  ],
  input: sampleInput,
  results: [...sampleFound],
  unreadable: null,
  ...change,
});

async function open(state: IterationState, more: Answers = {}) {
  const shown = show({ task }, { validate_state: () => state, ...more });
  await shown.user.click(await screen.findByRole("tab", { name: "Validate" }));
  return shown;
}

describe("what validation found", () => {
  it("is counted without what cannot be known", () => {
    expect(counted(sampleFound)).toEqual({ passed: 1, all: 5 });
  });

  it("says why it advises what it advises", () => {
    const why = (change: Parameters<typeof sampleAttempt>[0]) => whyOf(sampleAttempt(change));
    expect(why({ recommendation: "PROCEED" })).toBe("passed");
    expect(why({})).toBe("failed");
    expect(why({ recommendation: "ESCALATE", sameAsPrev: true })).toBe("same");
    expect(why({ recommendation: "ESCALATE", oscillating: true })).toBe("oscillating");
    expect(why({ recommendation: "ESCALATE", velocity: 0 })).toBe("flat");
  });

  it("belongs to the task, and to modules validated in its worktree", () => {
    const log: LogEvents = {
      unreadable: 0,
      items: [
        { at: "", type: "tool_call", moduleId: "m1", taskId: task.id, data: {} },
        { at: "", type: "validate", moduleId: "m1", taskId: task.id, data: {} },
        { at: "", type: "validate", moduleId: "m1", runId: "plan", taskId: task.id, data: {} },
        { at: "", type: "validate", moduleId: "other", taskId: "t9", data: {} },
      ],
    };
    expect(modulesOf(task, log).map(({ moduleId, runId }) => [moduleId, runId])).toEqual([
      [task.id, null],
      ["m1", "plan"],
      ["m1", null],
    ]);
  });

  it("is asked for by lines, without what is empty", () => {
    const draft = draftOf(null, ["npm test"]);
    const contracts = [
      { exporter: "a.ts", importer: "b.ts" },
      { exporter: "", importer: "c.ts" },
    ];
    expect(inputOf({ ...draft, files: " a.ts \n\nb.ts\n", contracts }, module, place)).toEqual({
      ...module,
      ...place,
      commands: ["npm test"],
      files: ["a.ts", "b.ts"],
      contractChecks: [{ exporter: "a.ts", importer: "b.ts" }],
    });
  });
});

describe("the Validate tab", () => {
  it("is there only while there is a worktree", async () => {
    show({ task: someTask({ workspace: someWorkspace({ status: "cleaned" }) }) });
    await screen.findByRole("tab", { name: "Timeline" });
    expect(screen.queryByRole("tab", { name: "Validate" })).toBeNull();
  });

  it("tells the latest attempt in full and the others as lines", async () => {
    const { container } = await open(kept());
    const latest = await screen.findByRole("region", { name: "Latest attempt" });
    expect(latest.textContent).toContain("Attempt 2");
    expect(latest.textContent).toContain("No progress");
    expect(latest.textContent).toContain("1 of 5 checks passed");
    expect(within(latest).getByRole("status").textContent).toBe(
      "Needs your attention. The same checks failed in the same way as in the previous attempt.",
    );
    const results = screen.getByRole("list", { name: "Latest results" });
    const marks = within(results).getAllByRole("img");
    expect(marks.map((mark) => mark.getAttribute("aria-label"))).toEqual([
      "Passed",
      "Failed",
      "Failed",
      "Failed",
      "Unknown",
      "Failed",
    ]);
    // What failed is unfolded, with what was found.
    expect(results.textContent).toContain("Expected `,` or `)` but found `{`");
    expect(results.textContent).toContain("Not exported: Window");
    expect(results.textContent).toContain("imports nothing from src/limit.ts");
    expect(results.textContent).toContain("2 tests failed");
    const earlier = screen.getByRole("region", { name: "Earlier attempts" });
    expect(within(earlier).getAllByRole("listitem")).toHaveLength(1);
    expect(earlier.textContent).toContain("2 failures");
    expect(await violations(container)).toEqual([]);
  });

  it("validates again by key, with what was checked last and where the worktree is now", async () => {
    const { user, sent } = await open(kept(), {
      validate: () => ({ ...kept().attempts?.[0], results: [], notice: null }),
    });
    await screen.findByRole("button", { name: /Validate again/ });
    await user.keyboard("{Shift>}v{/Shift}");
    await waitFor(() => expect(sent("validate")).toHaveLength(1));
    expect(sent("validate")[0]).toEqual({ ...sampleInput, ...module, ...place });
  });

  it("begins with the task's own checks, and takes files and contracts", async () => {
    const { user, sent } = await open(kept({ attempts: [], input: null, results: [] }), {
      validate: () => ({ ...kept().attempts?.[0], results: [], notice: null }),
    });
    expect(await screen.findByText("No attempts yet")).toBeTruthy();
    await user.type(screen.getByRole("textbox", { name: "Commands" }), "npm test");
    await user.type(screen.getByRole("textbox", { name: "Files" }), "a.ts{Enter}b.ts");
    await user.click(screen.getByRole("button", { name: "Add contract" }));
    await user.type(screen.getByRole("textbox", { name: /file that imports/ }), "b.ts");
    await user.type(screen.getByRole("textbox", { name: /file that exports/ }), "a.ts");
    await user.click(screen.getByRole("button", { name: "Validate" }));
    await waitFor(() => expect(sent("validate")).toHaveLength(1));
    expect(sent("validate")[0]).toMatchObject({
      commands: ["npm test"],
      files: ["a.ts", "b.ts"],
      contractChecks: [{ importer: "b.ts", exporter: "a.ts" }],
    });
  });

  it("says what is not counted, and why it was refused", async () => {
    const report = { ...kept().attempts?.[0], attempt: 0, results: [], notice: null };
    const { user } = await open(kept(), { validate: () => report });
    await user.click(await screen.findByRole("button", { name: /Validate again/ }));
    expect(await screen.findByText("This attempt does not count")).toBeTruthy();
  });

  it("can be stopped, and says nothing of it then", async () => {
    let reject = (_why: unknown): void => {};
    const promise = new Promise<never>((_, rejected) => {
      reject = rejected;
    });
    const { user, sent } = await open(kept(), {
      validate: () => promise,
      validate_cancel: () => {
        reject({ code: "cancelled", message: "stopped before it finished" });
        return { done: true };
      },
    });
    await user.click(await screen.findByRole("button", { name: /Validate again/ }));
    await user.click(await screen.findByRole("button", { name: "Stop" }));
    await waitFor(() => expect(screen.queryByRole("button", { name: "Stop" })).toBeNull());
    expect(sent("validate_cancel")).toEqual([{ ...module, ...place }]);
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("shows why nothing was validated", async () => {
    const { user } = await open(kept(), {
      validate: refuse("invalid", "failed to validate: files[0]: leads outside"),
    });
    await user.click(await screen.findByRole("button", { name: /Validate again/ }));
    expect((await screen.findByRole("alert")).textContent).toContain("files[0]: leads outside");
  });

  it("forgets the attempts only when that is meant", async () => {
    const { user, sent } = await open(kept(), { validate_reset: () => kept({ attempts: [] }) });
    await user.click(await screen.findByRole("button", { name: "Delete attempts" }));
    expect(sent("validate_reset")).toHaveLength(0);
    const dialog = await screen.findByRole("alertdialog");
    await user.click(within(dialog).getByRole("button", { name: "Delete attempts" }));
    await waitFor(() => expect(sent("validate_reset")).toEqual([{ ...module, ...place }]));
  });

  it("says what cannot be read", async () => {
    await open(kept({ attempts: [], results: [], unreadable: "expected `,` at line 3" }));
    expect(await screen.findByText("Could not read earlier attempts")).toBeTruthy();
    expect(screen.getByText("expected `,` at line 3")).toBeTruthy();
  });
});

it("unfolds in the review that it was a check of, with its measures", async () => {
  const attempt = kept().attempts?.[1] ?? sampleAttempt();
  const step = {
    index: 0,
    command: "validate",
    exit_code: 1,
    signal: null,
    timed_out: false,
    finished: true,
    cached: false,
    duration_ms: 8_000,
    stdout_tail: "",
    stderr_tail: "",
    changed_files: [],
    log_id: "c1",
    validate: { ...attempt, results: [...sampleFound] },
  };
  const { user } = show({
    task,
    reviews: [someReview({ measures: attempt, steps: [step as never] })],
  });
  await user.click(await screen.findByRole("tab", { name: /^Review/ }));
  const review = await screen.findByRole("region", { name: /Attempt 1/ });
  expect(review.textContent).toContain("Same failures as before");
  expect(within(review).getByRole("list", { name: /Latest results/ }).textContent).toContain(
    "Window",
  );
});
