import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ReadFileDiff } from "#ui/api/generated.ts";
import { preferences, setPreference } from "#ui/store/preferences.ts";
import { diffAnswers, manyAnswers } from "#ui/test/sampleDiff.ts";
import { manySummary } from "#ui/test/sampleManyFiles.ts";
import { followRenders } from "#ui/test/rendered.ts";
import { someExecution, someTask, someWorkspace } from "../testing/fixtures.ts";
import { layOut, show, violations, type Answers } from "../testing/show.tsx";
import { fileOrder } from "./tree.ts";

layOut();
const { scrollTo: noScroll } = Element.prototype;
beforeEach(() => {
  // jsdom scrolls nothing by itself, and knows of nothing to scroll.
  vi.spyOn(Element.prototype, "scrollHeight", "get").mockReturnValue(10_000_000);
  Element.prototype.scrollTo = function (this: Element, to?: ScrollToOptions | number) {
    this.scrollTop = typeof to === "object" ? (to.top ?? 0) : 0;
    // The event comes later than the call, as in a browser.
    queueMicrotask(() => fireEvent.scroll(this));
  } as typeof noScroll;
});
afterEach(() => {
  Element.prototype.scrollTo = noScroll;
  location.hash = "";
});

const files = fileOrder(manySummary().files);
const nameAt = (place: number) => files[place]?.path ?? "";

async function open(answers: Answers = manyAnswers(), place = "") {
  location.hash = `#/task/p1/42?tab=diff${place}`;
  const task = someTask({ status: "review", workspace: someWorkspace() });
  const shown = show({ task, executions: [someExecution()] }, answers);
  const list = await waitFor(() => {
    const found = shown.container.querySelector<HTMLElement>("[role=log]");
    if (!found?.querySelector("[data-row], [data-head]")) throw new Error("no changes yet");
    return found;
  });
  const asked = () => [
    ...new Set(shown.sent("task_diff_file").map((input) => (input as ReadFileDiff).path)),
  ];
  return { ...shown, list, asked };
}

/** Scrolls the list and waits until it has read what is there. */
async function scrollTo(list: HTMLElement, top: number) {
  list.scrollTop = top;
  fireEvent.scroll(list);
  // What comes near is read, and drawn.
  await act(async () => {});
  await waitFor(() => expect(list.querySelector("[data-row]")).toBeTruthy());
}

const tree = () => {
  const list = document.querySelector<HTMLElement>("[role=list][aria-label='Changed files']");
  if (!list) throw new Error("no list of files");
  return list;
};
const current = () => tree().querySelector<HTMLElement>("[aria-current=true]")?.title;

describe("changes of many files", () => {
  it("are one scroll whose number of nodes stays bounded, over 300 files and 30,000 lines", async () => {
    const { list, container } = await open();
    const summary = manySummary();
    expect(summary.files.length).toBeGreaterThan(300);
    const nodes = () => container.querySelectorAll("*").length;
    let most = nodes();
    for (let top = 0; top < 600_000; top += 100_000) {
      await scrollTo(list, top);
      most = Math.max(most, nodes());
    }
    expect(most).toBeLessThan(4_000);
    expect(list.querySelectorAll("[data-row]").length).toBeLessThan(120);
  }, 60_000);

  it("draw what comes into sight when scrolled, and nothing again that was there", async () => {
    const { list } = await open();
    await waitFor(() => expect(list.querySelectorAll("[data-row]").length).toBeGreaterThan(40));
    const shown = () => [...list.querySelectorAll<HTMLElement>("[data-index]")];
    const before = new Set(shown().map(({ dataset }) => dataset["index"]));
    const { commits, stop } = followRenders();
    list.scrollTop = 200;
    fireEvent.scroll(list);
    await act(async () => {});
    stop();
    const fresh = shown().filter(({ dataset }) => !before.has(dataset["index"]));
    expect(fresh.length).toBeGreaterThan(0);
    const drawn = commits.flat().filter((name) => name === "ChangeItem");
    expect(drawn.length).toBeLessThanOrEqual(fresh.length);
  });

  it("are read as they come near, never all at once", async () => {
    const { list, asked } = await open();
    expect(asked()).toEqual(files.slice(0, 4).map(({ path }) => path));
    await scrollTo(list, 300_000);
    await waitFor(() => expect(asked().length).toBeGreaterThan(4));
    expect(asked().length).toBeLessThan(20);
  });

  it("have heads that stay at the upper edge, and a file list that follows", async () => {
    const { list } = await open();
    expect(current()).toBe(nameAt(0));
    const heads = () =>
      [...list.querySelectorAll("[data-sticky] h3")].map((each) => each.textContent);
    expect(heads()).toEqual([nameAt(0)]);
    await scrollTo(list, 300_000);
    await waitFor(() => expect(current()).not.toBe(nameAt(0)));
    expect(heads()).toEqual([current()]);
  });

  it("are jumped through by the file list and by keys", async () => {
    const { user, list, dropKeys } = await open();
    await user.click(within(tree()).getByTitle(nameAt(5)));
    await waitFor(() =>
      expect(list.querySelector("[data-sticky] h3")?.textContent).toBe(nameAt(5)),
    );
    await user.keyboard("n");
    await waitFor(() => expect(current()).toBe(nameAt(6)));
    await user.keyboard("p");
    await waitFor(() => expect(current()).toBe(nameAt(5)));
    dropKeys();
  });

  it("fold a file that was viewed, and unfold it when asked", async () => {
    const { user, list } = await open();
    const [first] = screen.getAllByRole("checkbox", { name: "Viewed" });
    await user.click(first as HTMLElement);
    const unfold = await screen.findByRole("button", { name: `Expand ${nameAt(0)}` });
    expect(list.querySelectorAll("[data-head]").length).toBeGreaterThan(1);
    await user.click(unfold);
    expect(await screen.findByRole("button", { name: `Collapse ${nameAt(0)}` })).toBeTruthy();
  });

  it("step from change to change over the ends of files", async () => {
    const { user, dropKeys } = await open();
    await user.keyboard("j");
    await screen.findByText(/^Line 1, added: /);
    // The first file is new: one change is all of it.
    await user.keyboard("j");
    await waitFor(() => expect(current()).toBe(nameAt(1)));
    await screen.findByText(/^Line 1, added: /);
    await user.keyboard("k");
    await waitFor(() => expect(current()).toBe(nameAt(0)));
    dropKeys();
  });

  it("lead to a line of a file far away", async () => {
    const { list } = await open(manyAnswers(), `&file=${nameAt(250)}&line=3`);
    await screen.findByText(/^Line 3, added:/);
    await waitFor(() => expect(document.activeElement).toBe(list));
    expect(list.querySelector("[data-selected] [data-number=new]")?.textContent).toBe("3");
    expect(current()).toBe(nameAt(250));
  });
});

describe("one file at a time", () => {
  it("is chosen, kept, and shows no other", async () => {
    const { user, list } = await open();
    await user.click(screen.getByRole("button", { name: "One file at a time" }));
    expect(preferences.getState().diffOneFile).toBe(true);
    const alone = await screen.findByRole("log", { name: `Changes in ${nameAt(0)}` });
    await waitFor(() => expect(alone.querySelectorAll("[data-head]")).toHaveLength(1));
    expect(list.isConnected).toBe(false);
  });
});

describe("changes of every kind in one scroll", () => {
  it("show pictures, generated files on demand, and two columns", async () => {
    setPreference("diffStyle", "split");
    const { user, container, list } = await open(diffAnswers(), "&file=src/login.ts&line=20");
    const line = await screen.findByText(/too many attempts/);
    expect(await violations(container)).toEqual([]);
    expect(line.closest("[data-side]")?.getAttribute("data-side")).toBe("new");
    await user.click(within(tree()).getByTitle("package-lock.json"));
    await user.click(await screen.findByRole("button", { name: "Show file" }));
    await waitFor(() => expect(list.textContent).toContain("No content changes"));
  }, 60_000);
});
