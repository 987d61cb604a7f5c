import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ReadFileDiff } from "#ui/api/generated.ts";
import { file, hunksOf, sampleHunk } from "#ui/test/sampleChanges.ts";
import { manyAnswers } from "#ui/test/sampleDiff.ts";
import { manyFileDiff, manySummary } from "#ui/test/sampleManyFiles.ts";
import { someExecution, someTask, someWorkspace } from "../testing/fixtures.ts";
import { layOut, show, violations, type Answers } from "../testing/show.tsx";
import { opened } from "./composer.ts";
import { lookOf, lookStore } from "./looks.ts";
import { fileOrder } from "./tree.ts";

layOut();
beforeEach(() => {
  opened.setState({ keys: [], asked: null });
  vi.spyOn(Element.prototype, "scrollHeight", "get").mockReturnValue(10_000_000);
});
afterEach(() => {
  location.hash = "";
});

/** Three files of the sample with many, so that a test has little to draw. */
const few = fileOrder(manySummary().files)
  .filter(({ kind }) => kind === "modified")
  .slice(0, 3);
const answers: Answers = {
  ...manyAnswers(),
  task_comments: () => ({ items: [], next_cursor: null }),
  task_diff: () => ({ ...manySummary(), files: few }),
};

async function open(more: Answers = {}) {
  location.hash = "#/task/p1/42?tab=diff";
  const task = someTask({ status: "review", workspace: someWorkspace() });
  const shown = show({ task, executions: [someExecution()] }, { ...answers, ...more });
  const list = await waitFor(() => {
    const found = shown.container.querySelector<HTMLElement>("[role=log]");
    if (!found?.querySelector("[data-row]")) throw new Error("no changes yet");
    return found;
  });
  return { ...shown, list };
}
const numbersIn = (list: HTMLElement) =>
  [...list.querySelectorAll("[data-kind=context] [data-number=new]")].map((each) =>
    Number(each.textContent),
  );
const contextReads = (sent: (op: string) => unknown[]) =>
  (sent("task_diff_file") as ReadFileDiff[]).filter(({ context }) => (context ?? 3) > 3);

/** A file of a hundred lines of which the fiftieth is another one. */
const long = sampleHunk(
  1,
  1,
  "",
  Array.from({ length: 100 }, (_, at) => (at === 49 ? "-old\n+new" : ` line ${at + 1}`)).join("\n"),
).lines;
const change = file("src/long.ts", { added: 1, removed: 1 });
const longFile: Answers = {
  task_diff: () => ({ ...manySummary(), files: [change] }),
  task_diff_file: ({ context, start, limit }: ReadFileDiff) =>
    hunksOf(change, long, { context: context ?? 3, start: start ?? 0, limit: limit ?? 2_000 }),
};

describe("hidden lines", () => {
  it("are shown upward and downward, and only those are read", async () => {
    const { user, list, sent } = await open(longFile);
    expect(numbersIn(list)).toEqual([47, 48, 49, 51, 52, 53]);
    await user.click(within(list).getByRole("button", { name: "Show 20 more lines above" }));
    await waitFor(() => expect(numbersIn(list)[0]).toBe(27));
    await user.click(within(list).getByRole("button", { name: "Show 20 more lines below" }));
    await waitFor(() => expect(numbersIn(list).at(-1)).toBe(73));
    expect(contextReads(sent)).toMatchObject([
      { path: "src/long.ts", start: 26, limit: 20 },
      // The removed line is a row of its own.
      { path: "src/long.ts", start: 54, limit: 20 },
    ]);
    await user.click(within(list).getByRole("button", { name: "Show 26 hidden lines" }));
    await waitFor(() => expect(numbersIn(list)[0]).toBe(1));
  });

  it("are all shown by a key, and none is left to show", async () => {
    const { user, list, dropKeys } = await open(longFile);
    await user.keyboard("u");
    await waitFor(() => expect(numbersIn(list)[0]).toBe(1));
    // All that the window of the list holds, without a gap.
    const shown = numbersIn(list);
    expect(shown.length).toBeGreaterThan(50);
    expect(shown.at(-1)).toBe(shown.length + 1);
    expect(
      within(list).queryByRole("button", { name: /hidden|more lines|whole file|the rest/ }),
    ).toBeNull();
    dropKeys();
  });
});

describe("a search", () => {
  it("finds a text in all files, also in those that were not read, and says how far it is", async () => {
    const all = fileOrder(manySummary().files).slice(0, 14);
    const { user, list, container, dropKeys } = await open({
      task_diff: () => ({ ...manySummary(), files: all }),
    });
    await user.keyboard("{Control>}f{/Control}");
    const box = await screen.findByRole("textbox", { name: "Find in changes" });
    expect(document.activeElement).toBe(box);
    await user.type(box, "page20 ");
    const wanted = all
      .flatMap(({ path }) => manyFileDiff({ task_id: "t1", path }).hunks)
      .flatMap(({ lines }) => lines)
      .filter(({ text }) => text.includes("page20 ")).length;
    expect(wanted).toBeGreaterThan(1);
    await screen.findByText(`${wanted} matches`);
    await user.keyboard("{Enter}");
    await screen.findByText(`1 of ${wanted}`);
    expect(document.activeElement).toBe(box);
    expect(list.querySelector("mark[data-current]")?.textContent).toBe("page20 ");
    await user.keyboard("{Shift>}{Enter}{/Shift}");
    await screen.findByText(`${wanted} of ${wanted}`);
    expect(await violations(container)).toEqual([]);
    await user.keyboard("{Escape}");
    expect(screen.queryByRole("search")).toBeNull();
    expect(document.activeElement).toBe(list);
    dropKeys();
  }, 60_000);

  it("says what it does not look into", async () => {
    const lock = file("yarn.lock", { generated: true });
    const { user, dropKeys } = await open({
      task_diff: () => ({ ...manySummary(), files: [...few, lock] }),
    });
    await user.keyboard("{Control>}f{/Control}");
    await user.type(await screen.findByRole("textbox", { name: "Find in changes" }), "zzz");
    expect(await screen.findByText(/1 file not searched/)).toBeTruthy();
    expect(screen.getByText("0 matches")).toBeTruthy();
    dropKeys();
  });
});

describe("a press on a line's number", () => {
  it("opens a comment on that line", async () => {
    const { list } = await open();
    const number = list.querySelector("[data-kind=added] [data-number=new]");
    fireEvent.pointerDown(number as Element, { button: 0 });
    fireEvent.pointerUp(window);
    const box = await screen.findByRole("textbox", { name: "Comment on line 3" });
    expect(document.activeElement).toBe(box);
  });
});

describe("the file that is read", () => {
  it("is opened in the editor, viewed and folded by keys", async () => {
    const { user, platform, dropKeys } = await open();
    const path = few[0]?.path ?? "";
    await user.keyboard("{Shift>}o{/Shift}");
    await waitFor(() =>
      expect(platform.opened).toEqual([
        { kind: "editor", target: `${someWorkspace().path}/${path}`, line: 3 },
      ]),
    );
    await user.keyboard("h");
    expect(await screen.findByRole("button", { name: `Expand ${path}` })).toBeTruthy();
    await user.keyboard("h");
    expect(await screen.findByRole("button", { name: `Collapse ${path}` })).toBeTruthy();
    await user.keyboard("v");
    expect(await screen.findByRole("button", { name: `Expand ${path}` })).toBeTruthy();
    dropKeys();
  });
});

describe("changes since the last look", () => {
  it("are marked, can be shown alone, and become the last look when it ends", async () => {
    const known = few.map((change, at) => (at === 1 ? { ...change, new_blob: "older" } : change));
    lookStore.setState({ tasks: { t1: lookOf(known, "2026-03-04T10:00:00Z") } });
    const { user, list, unmount } = await open();
    const path = few[1]?.path ?? "";
    await user.click(screen.getByRole("button", { name: "1 file changed since you last looked" }));
    await waitFor(() =>
      expect([...list.querySelectorAll("[data-head]")].map((head) => head.textContent)).toEqual([
        expect.stringContaining(path),
      ]),
    );
    expect(within(list).getByText("New changes")).toBeTruthy();
    unmount();
    expect(lookStore.getState().tasks["t1"]?.files[path]).toContain(few[1]?.new_blob ?? "?");
  });
});
