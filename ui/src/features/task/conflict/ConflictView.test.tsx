import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import type { Task } from "#ui/api/generated.ts";
import { createQueryClient } from "#ui/api/operations.tsx";
import { TooltipProvider } from "#ui/components/Tooltip.tsx";
import { createFakePlatform } from "#ui/platform/fake.ts";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { cast, recorded } from "#ui/test/recorded.ts";
import { diffAnswers, sampleConflicts } from "#ui/test/sampleDiff.ts";
import { someTask, someWorkflow } from "../testing/fixtures.ts";
import { layOut, refuse, violations, type Answers } from "../testing/show.tsx";
import { ConflictView } from "./ConflictView.tsx";

layOut();

function open(task: Partial<Task> = {}, more: Answers = {}) {
  const platform = createFakePlatform({
    ...diffAnswers(),
    project_workflow_get: () => someWorkflow,
    ...more,
  });
  const shown = render(
    <PlatformProvider platform={platform}>
      <QueryClientProvider client={createQueryClient()}>
        <TooltipProvider>
          <ConflictView task={someTask({ id: "t2", status: "in_progress", ...task })} />
        </TooltipProvider>
      </QueryClientProvider>
    </PlatformProvider>,
  );
  return { platform, user: userEvent.setup(), ...shown };
}
const file = async (path: string) => within(await screen.findByRole("region", { name: path }));

describe("a merge conflict", () => {
  it("says what conflicts, in words, and whose turn it is", async () => {
    const { container } = open();
    expect(await screen.findByRole("heading", { name: "3 files conflict with main" })).toBeTruthy();
    expect(await screen.findByText(/The conflicts were sent to the agent/)).toBeTruthy();
    expect((await file("src/settings.ts")).getByText("Both changed the same lines")).toBeTruthy();
    const deleted = await file("src/legacy/config.ts");
    expect(deleted.getByText("The task deleted this file; main changed it.")).toBeTruthy();
    expect((await file("assets/logo.png")).getByText(/No conflicting lines to show/)).toBeTruthy();
    expect(await violations(container)).toEqual([]);
  });

  it("shows the place first, each side under its name", async () => {
    open({ status: "blocked" });
    expect(await screen.findByText(/Choose one of the actions above/)).toBeTruthy();
    const place = (await file("src/settings.ts")).getByLabelText("Conflict 1 of 1");
    const sides = [...place.querySelectorAll<HTMLElement>("[data-side]")];
    expect(sides.map(({ dataset }) => dataset["side"])).toEqual(["ours", "base", "theirs"]);
    expect(sides[0]?.textContent).toContain("main");
    expect(sides[0]?.textContent).toContain("comments: true");
    expect(sides[2]?.textContent).toContain("This task");
    expect(place.textContent).not.toContain("<<<<<<<");
    const numbers = (side: string) =>
      [...place.querySelectorAll(`[data-side=${side}] [data-number]`)].map((line) =>
        line.getAttribute("data-number"),
      );
    expect([numbers("ours"), numbers("base"), numbers("theirs")]).toEqual([
      ["5"],
      [""],
      ["5", "6"],
    ]);
    expect(
      screen.getByText("Conflict 1 of 1 · main: line 5 · This task: lines 5 to 6"),
    ).toBeTruthy();
  });

  it("reads the three sides when they are asked for, with the lines in conflict marked", async () => {
    const { platform, user, container } = open();
    const settings = await file("src/settings.ts");
    expect(platform.calls.some(({ op }) => op === "task_conflict_file")).toBe(false);
    await user.click(settings.getByRole("button", { name: "Show three versions" }));
    const mine = within(await settings.findByRole("region", { name: "This task" }));
    const marked = mine
      .getByRole("log", { name: "Lines: This task" })
      .querySelectorAll("[data-marked]");
    expect([...marked].map(({ textContent }) => textContent)).toEqual([
      '5  const text = readFileSync(path, "utf8");',
      "6  return { ...defaults, ...parse(text) };",
    ]);
    expect(settings.getByRole("region", { name: "main" })).toBeTruthy();
    expect(settings.getByRole("region", { name: "Base" })).toBeTruthy();
    expect(await violations(container)).toEqual([]);
  });

  it("says why a side has no lines", async () => {
    const { user } = open();
    const deleted = await file("src/legacy/config.ts");
    await user.click(deleted.getByRole("button", { name: "Show three versions" }));
    expect((await deleted.findByRole("region", { name: "This task" })).textContent).toContain(
      "File does not exist.",
    );
    expect(deleted.getByRole("region", { name: "main" }).textContent).toContain("Too large");
    const logo = await file("assets/logo.png");
    await user.click(logo.getByRole("button", { name: "Show three versions" }));
    expect(await logo.findAllByText("Binary file, not shown.")).toHaveLength(3);
  });

  it("is history once it is resolved, and can still be looked at", async () => {
    const { user, container } = open(
      {},
      { task_conflict: () => ({ conflict: sampleConflicts, standing: "resolved" }) },
    );
    const title = await screen.findByRole("heading", {
      name: /The conflict with main is resolved/,
    });
    expect(title.textContent).toContain("Resolved");
    expect(screen.queryByText(/The conflicts were sent/)).toBeNull();
    expect(screen.queryByRole("region", { name: "src/settings.ts" })).toBeNull();
    await user.click(screen.getByRole("button", { name: "Show the 3 files that conflicted" }));
    expect(await file("src/settings.ts")).toBeTruthy();
    expect(await violations(container)).toEqual([]);
  });

  it("says that there is none, or why it could not be read", async () => {
    const { unmount } = open({ id: "t1" });
    expect(await screen.findByRole("heading", { name: "No conflict" })).toBeTruthy();
    unmount();
    open({}, { task_conflict: refuse("internal", "failed to read the conflict: locked") });
    expect(await screen.findByText("failed to read the conflict: locked")).toBeTruthy();
  });
});

it("shows the conflict that the engine recorded, whose sides are named by commits", async () => {
  open({}, { task_conflict: () => recorded("task_conflict", { task_id: cast.tasks.conflict }) });
  const place = (await file("README.md")).getByLabelText("Conflict 1 of 1");
  const sides = [...place.querySelectorAll<HTMLElement>("[data-side]")];
  expect(sides[0]?.dataset["side"]).toBe("ours");
  expect(sides[0]?.textContent).toContain("Newcomers are welcome!");
  expect(sides.at(-1)?.dataset["side"]).toBe("theirs");
  expect(sides.at(-1)?.textContent).toContain("kept small, for good.");
  expect(place.textContent).not.toContain("<<<<<<<");
});
