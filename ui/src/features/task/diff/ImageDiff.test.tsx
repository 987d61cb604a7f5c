import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FilePreview, ReadPreview } from "#ui/api/generated.ts";
import { overlays } from "#ui/store/overlays.ts";
import { diffAnswers } from "#ui/test/sampleDiff.ts";
import { someExecution, someTask, someWorkspace } from "../testing/fixtures.ts";
import { setPreference } from "#ui/store/preferences.ts";
import { layOut, refuse, show, violations, type Answers } from "../testing/show.tsx";

layOut();
beforeEach(() => setPreference("diffOneFile", true));
afterEach(() => {
  location.hash = "";
});

/** The diff of the sample's changes at one of its files. */
async function open(path: string, more: Answers = {}) {
  location.hash = `#/task/p1/42?tab=diff&file=${path}`;
  const task = someTask({ status: "review", workspace: someWorkspace() });
  const shown = show({ task, executions: [someExecution()] }, { ...diffAnswers(), ...more });
  const file = within(await screen.findByRole("region", { name: path }));
  return { ...shown, file };
}
const img = (name: string) => screen.findByRole<HTMLImageElement>("img", { name });
const load = (image: HTMLImageElement, width: number, height: number) => {
  Object.defineProperty(image, "naturalWidth", { value: width });
  Object.defineProperty(image, "naturalHeight", { value: height });
  fireEvent.load(image);
};

describe("a changed picture", () => {
  it("is shown before and after, with what it measures", async () => {
    const { file, sent, container } = await open("assets/logo.png");
    const before = await img("logo.png before the task's changes");
    const after = await img("logo.png with the task's changes");
    expect(before.src).toMatch(/^data:image\/png;base64,/);
    expect(after.src).not.toBe(before.src);
    const said = file.getAllByRole("figure").map(({ textContent }) => textContent);
    expect(said).toEqual([
      "Before240 × 120 pixels · 597 bytes · PNG",
      "After240 × 120 pixels · 604 bytes · PNG",
    ]);
    expect(sent("task_diff_preview")).toEqual([
      { task_id: "t1", scope: "task", path: "assets/logo.png", side: "old" },
      { task_id: "t1", scope: "task", path: "assets/logo.png", side: "new" },
    ]);
    expect(sent("task_diff_file")).toEqual([]);
    expect(await violations(container)).toEqual([]);
  });

  it("is laid over its earlier self, by a slider that keys move", async () => {
    const { file, user, container } = await open("assets/logo.png");
    await img("logo.png with the task's changes");
    await user.click(file.getByRole("radio", { name: "Swipe" }));
    const line = file.getByRole("slider", { name: "Position of the divider" });
    fireEvent.change(line, { target: { value: "30" } });
    const layer = () => container.querySelector<HTMLElement>("[data-new]")?.style;
    expect(layer()?.clipPath).toBe("inset(0 0 0 30%)");
    expect(await violations(container)).toEqual([]);
    await user.click(file.getByRole("radio", { name: "Onion skin" }));
    fireEvent.change(file.getByRole("slider"), { target: { value: "80" } });
    expect([layer()?.clipPath, layer()?.opacity]).toEqual(["", "0.8"]);
  });

  it("is told why it is not shown, with its sizes", async () => {
    const { file } = await open("assets/hero.png");
    expect(await file.findByText(/Stored in Git LFS \(2.3 MB\)/)).toBeTruthy();
    expect(file.getByText("Too large to show: 24.8 MB. The limit is 10 MB.")).toBeTruthy();
    expect(file.queryByRole("img", { name: /hero/ })).toBeNull();
    expect(file.queryByRole("radio", { name: "Swipe" })).toBeNull();
  });

  it("has one side when it is new, and is a binary file when it is none", async () => {
    const { file, sent } = await open("assets/data.bin");
    expect(await file.findByRole("heading", { name: "Binary file" })).toBeTruthy();
    expect(file.getByText("4.7 kB")).toBeTruthy();
    expect(sent("task_diff_preview")).toHaveLength(1);
  });

  it("says that it cannot be drawn, or could not be read, and reads again", async () => {
    let broken = true;
    const { file, user } = await open("assets/logo.png", {
      task_diff_preview: ({ side }: ReadPreview): FilePreview => {
        if (side === "new" && broken) refuse("internal", "failed to read it: gone")();
        return {
          kind: "image",
          size: 3,
          max_size: 10,
          media_type: "image/avif",
          width: null,
          height: null,
          data: "AAAA",
        };
      },
    });
    fireEvent.error(await img("logo.png before the task's changes"));
    expect(file.getByText("Could not show this image.")).toBeTruthy();
    const failed = await file.findByText("failed to read it: gone");
    expect(failed).toBeTruthy();
    broken = false;
    await user.click(file.getByRole("button", { name: "Try again" }));
    const after = await img("logo.png with the task's changes");
    load(after, 7, 5);
    expect(file.getByText("7 × 5 pixels · 3 bytes · AVIF")).toBeTruthy();
  });

  it("that is text as well is lines first, and drawn when asked", async () => {
    const { file, user } = await open("assets/mark.svg");
    expect(await file.findByRole("log", { name: "Changes in assets/mark.svg" })).toBeTruthy();
    await user.click(file.getByRole("radio", { name: "Image" }));
    const after = await img("mark.svg with the task's changes");
    expect(after.src).toMatch(/^data:image\/svg\+xml;base64,/);
    load(after, 96, 96);
    expect(file.getByText("96 × 96 pixels · 151 bytes · SVG")).toBeTruthy();
    await user.click(file.getByRole("radio", { name: "Lines" }));
    expect(await file.findByRole("log", { name: "Changes in assets/mark.svg" })).toBeTruthy();
  });
});

describe("the key for a comment", () => {
  it("opens no new task from anywhere in the diff", async () => {
    const { file, user } = await open("src/login.ts");
    const rows = await file.findByRole("log", { name: "Changes in src/login.ts" });
    screen.getByRole("button", { name: "Next change" }).focus();
    const outside = keptFromPage();
    await user.keyboard("c");
    expect(outside()).toEqual([true]);
    rows.focus();
    await user.keyboard("c");
    expect(outside()).toEqual([true, true]);
    expect(await screen.findByText(/Select a line first/)).toBeTruthy();
    await user.keyboard("{ArrowDown}");
    await waitFor(() => expect(screen.queryByText(/Select a line first/)).toBeNull());
    expect(overlays.getState().open).toBeNull();
  });
});

/** Whether each `c` that reaches the page was kept from it. */
function keptFromPage(): () => readonly boolean[] {
  const seen: boolean[] = [];
  addEventListener("keydown", (event) => {
    if (event.key === "c") seen.push(event.defaultPrevented);
  });
  return () => seen;
}
