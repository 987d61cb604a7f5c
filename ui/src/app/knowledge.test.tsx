import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
// Loaded before the tests: as chunks they may take longer than a test has.
import "#ui/features/projects/ProjectSettingsScreen.tsx";
import "#ui/components/MarkdownBody.tsx";
import "#ui/features/knowledge/KnowledgeSection.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import type { LessonView } from "#ui/api/generated.ts";
import { pageOf, refuse, refuseInput } from "#ui/test/answers.ts";
import { createSampleHost, type SampleHost } from "#ui/test/sampleHost.ts";
import { lessonsOf, sampleLessons } from "#ui/test/sampleKnowledge.ts";

const open = (sample: string | null = null) => {
  const host = createSampleHost(sample, 20);
  return { host, ...openApp(host, "#/settings/project/p1?tab=knowledge") };
};
const proposed = () => screen.findByRole("list", { name: "Proposed lessons" });
const clock = () => screen.findByRole("listitem", { name: "The clock of the tests stands still" });
const colours = () => screen.findByRole("listitem", { name: "Colours come from tokens alone" });
const press = async (name: string) => userEvent.click(await screen.findByRole("button", { name }));

/** The lesson is decided by the call, and read so. */
function willDecide(
  host: SampleHost,
  op: "knowledge_accept" | "knowledge_dismiss",
  id: string,
  change: Partial<LessonView>,
): void {
  const lessons = sampleLessons().map((each) => (each.id === id ? { ...each, ...change } : each));
  const decided = lessons.find((each) => each.id === id);
  if (!decided) throw new Error(`there is no lesson ${id}`);
  const next = () => host.answer("knowledge_list", lessonsOf(lessons));
  host.after(op, decided, next, "knowledge:p1");
}
const kept = (file: string): Partial<LessonView> => ({
  status: "accepted",
  file: `docs/knowledge/${file}.md`,
  commit: "9d2c11e0",
});

describe("lessons", () => {
  it("are shown with where they come from", async () => {
    const { container } = open();
    const item = await clock();
    expect(within(item).getByRole("link", { name: "Task #3" }).getAttribute("href")).toBe(
      "#/task/p1/3",
    );
    expect(item.textContent).toContain("tests/support");
    await waitFor(() => expect(item.textContent).toContain("Move the clock by hand:"));
    const kept = await screen.findByRole("list", { name: "Kept in the repository" });
    const rows = within(kept).getAllByRole("listitem");
    expect(rows.map((row) => within(row).getByText(/^docs\/knowledge\//).textContent)).toEqual([
      "docs/knowledge/dates-are-stored-as-utc.md",
      "docs/knowledge/release.md",
    ]);
    expect(await violationsIn(container)).toEqual([]);
  });

  it("are found again by their words", async () => {
    const { host, container } = open();
    const field = await screen.findByRole("textbox", { name: "Search lessons" });
    await userEvent.type(field, "in UTC");
    const found = await screen.findByRole("list", { name: "Search results" });
    expect(within(found).getByRole("listitem").textContent).toBe(
      "Dates are stored as UTCThe window turns them into local time.docs/knowledge/dates-are-stored-as-utc.mdApplies to tests/support, src/clock.ts",
    );
    // Nothing is asked for before there is a word.
    const asked = inputsOf(host, "knowledge_search") as { q: string }[];
    expect(asked.every(({ q }) => q.length > 4)).toBe(true);
    expect(await violationsIn(container)).toEqual([]);
    host.answer("knowledge_search", pageOf([]));
    await userEvent.clear(field);
    await userEvent.type(field, "nowhere");
    await screen.findByText("No lessons match");
  });

  it("are accepted as they are", async () => {
    const { host } = open();
    const file = "the-clock-of-the-tests-stands-still";
    willDecide(host, "knowledge_accept", "l1", kept(file));
    await press("Accept The clock of the tests stands still");
    await screen.findByText("Lesson added to the repository");
    expect(inputsOf(host, "knowledge_accept")).toEqual([{ project_id: "p1", lesson_id: "l1" }]);
    const list = await screen.findByRole("list", { name: "Kept in the repository" });
    await within(list).findByText("docs/knowledge/the-clock-of-the-tests-stands-still.md");
    expect(within(await proposed()).getAllByRole("listitem")).toHaveLength(1);
  });

  it("are edited first, by the keyboard alone", async () => {
    const { host, container } = open();
    const edit = await screen.findByRole("button", {
      name: "Edit The clock of the tests stands still",
    });
    edit.focus();
    await userEvent.keyboard("{Enter}");
    const title = await screen.findByRole("textbox", { name: "Title" });
    expect(document.activeElement).toBe(title);
    expect(await violationsIn(container)).toEqual([]);
    host.answer("knowledge_accept", () =>
      refuseInput("the input is not valid: title: is missing", "title", "is missing"),
    );
    await userEvent.clear(title);
    await userEvent.keyboard("{Enter}");
    // What is wrong is said at its field, and nowhere else.
    await waitFor(() => expect(title.getAttribute("aria-invalid")).toBe("true"));
    expect(screen.queryByRole("alert")).toBeNull();
    willDecide(host, "knowledge_accept", "l1", kept("move-the-clock"));
    await userEvent.type(title, "Move the clock");
    const paths = screen.getByRole("textbox", { name: "Paths" });
    await userEvent.clear(paths);
    await userEvent.type(paths, "src/clock.ts{Enter}docs");
    await userEvent.type(title, "{Enter}");
    await screen.findByText("Lesson added to the repository");
    expect(inputsOf(host, "knowledge_accept").at(-1)).toMatchObject({
      lesson_id: "l1",
      title: "Move the clock",
      paths: ["src/clock.ts", "docs"],
    });
  });

  it("are left as they were when editing is given up", async () => {
    const { host } = open();
    await press("Edit The clock of the tests stands still");
    await userEvent.type(await screen.findByRole("textbox", { name: "Title" }), " at night");
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("textbox", { name: "Title" })).toBeNull());
    expect((await clock()).textContent).not.toContain("at night");
    expect(inputsOf(host, "knowledge_accept")).toEqual([]);
  });

  it("are given as a file where work goes by pull requests", async () => {
    const { host, container } = open();
    host.answer("knowledge_accept", () =>
      refuse(
        "lesson_needs_pull_request",
        "the project brings work to main by pull requests: add the file to one",
        {
          file: "docs/knowledge/lesson.md",
          text: "# The clock of the tests stands still\n\nMove the clock by hand.\n",
        },
      ),
    );
    await press("Accept The clock of the tests stands still");
    const item = await clock();
    const told = await within(item).findByRole("status", {
      name: "Add this lesson with a pull request",
    });
    expect(told.textContent).toContain("docs/knowledge/lesson.md");
    expect(told.textContent).toContain("# The clock of the tests stands still");
    expect(within(item).queryByRole("alert")).toBeNull();
    within(told).getByRole("button", { name: /copy/i });
    expect(within(await proposed()).getAllByRole("listitem")).toHaveLength(2);
    expect(await violationsIn(container)).toEqual([]);
  });

  it("name what is in the way, and can be tried again", async () => {
    const { host } = open();
    const file = "colours-come-from-tokens-alone";
    const files = [`docs/knowledge/${file}.md`];
    host.answer("knowledge_accept", () =>
      refuse(
        "target_checkout_dirty",
        `local changes in /home/me/code/shop are in the way: ${files.join(", ")}`,
        { worktree: "/home/me/code/shop", files },
        ["Commit, move or undo them there, then try again. Nothing was changed."],
      ),
    );
    const accept = "Accept Colours come from tokens alone";
    await press(accept);
    const alert = await within(await colours()).findByRole("alert");
    expect(alert.textContent).toContain("docs/knowledge/colours-come-from-tokens-alone.md");
    expect(alert.textContent).toContain("Commit, move or undo them there, then try again.");
    willDecide(host, "knowledge_accept", "l2", kept(file));
    await press(accept);
    await screen.findByText("Lesson added to the repository");
    const again = { project_id: "p1", lesson_id: "l2" };
    expect(inputsOf(host, "knowledge_accept")).toEqual([again, again]);
  });

  it("are dismissed", async () => {
    const { host } = open();
    willDecide(host, "knowledge_dismiss", "l2", { status: "dismissed" });
    await press("Dismiss Colours come from tokens alone");
    await waitFor(async () =>
      expect(within(await proposed()).getAllByRole("listitem")).toHaveLength(1),
    );
    expect(inputsOf(host, "knowledge_dismiss")).toEqual([{ project_id: "p1", lesson_id: "l2" }]);
  });
});

it("says how lessons come to be where nobody asks for them", async () => {
  open("new");
  await screen.findByText("Lessons are off");
  expect(screen.getByText("No saved lessons yet")).toBeTruthy();
  await press("Open hooks");
  await waitFor(() => expect(location.hash).toContain("tab=hooks"));
});
