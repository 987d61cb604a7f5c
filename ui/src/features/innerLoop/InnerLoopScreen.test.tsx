import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import "./InnerLoopScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";

async function rows(): Promise<Record<string, string[]>> {
  const table = await screen.findByRole("table", { name: "Inner loop parts" });
  const lines = within(table).getAllByRole("row").slice(1);
  return Object.fromEntries(
    lines.map((line) => {
      const [name, ...cells] = [...line.children];
      return [
        name?.querySelector("a")?.textContent ?? "",
        cells.map((cell) => cell.textContent ?? ""),
      ];
    }),
  );
}

it("has a row for each part: on or off and who says so, its last effect, what is open", async () => {
  const { container } = openApp(createSampleHost("races"), "#/inner-loop/p1");
  const all = await rows();
  expect(Object.keys(all)).toEqual([
    "Reviewer",
    "Races",
    "Drafted fixes",
    "Cost anomalies",
    "Validate",
    "Reflexion",
    "Trajectory",
    "Knowledge",
    "Postmortem",
    "Check suggestions",
  ]);
  expect(all["Races"]).toEqual([
    "OnFrom .forge.json",
    expect.stringMatching(/^cheap won against 2.+ ago#4 Cache the parsed configuration$/),
    "2 open",
  ]);
  expect(all["Reflexion"]).toEqual([
    "OffDefault",
    expect.stringMatching(/^run 2 began with: Review attempt 1 of 3 failed: .+#4 Cache/),
    "None",
  ]);
  expect(all["Validate"]).toEqual(["OffDefault", "Not recorded", ""]);
  expect(all["Check suggestions"]).toEqual(["OffDefault", "Never", "None"]);
  expect(all["Cost anomalies"]).toEqual(["OnDefault", "Never", "None"]);
  expect(await violationsIn(container)).toEqual([]);
});

it("leads to the race, to what is open, and to the settings", async () => {
  openApp(createSampleHost("races"), "#/inner-loop/p1");
  await rows();
  const href = (name: RegExp | string) => screen.getByRole("link", { name }).getAttribute("href");
  const about = screen.getAllByRole("link", { name: "#4 Cache the parsed configuration" });
  expect(about.map((link) => link.getAttribute("href"))).toEqual([
    "#/task/p1/4?tab=race",
    "#/task/p1/4",
    "#/task/p1/4?tab=debrief",
    "#/task/p1/4?tab=debrief",
  ]);
  expect(href("3 open")).toBe("#/settings/project/p1?tab=knowledge");
  expect(href("Races settings")).toBe("#/settings/project/p1?tab=innerLoop");
});

it("is read again when something happens on the board, and walked by keys", async () => {
  const host = createSampleHost("races");
  openApp(host, "#/board/p1");
  await userEvent.keyboard("gi");
  await rows();
  const reads = () => inputsOf(host, "inner_loop_status").length;
  const before = reads();
  act(() => host.commit({ tags: ["board:p1"] }));
  await waitFor(() => expect(reads()).toBe(before + 1));
  await userEvent.keyboard("jj");
  expect(document.activeElement?.getAttribute("aria-label")).toBe("Races settings");
  await userEvent.keyboard("k");
  expect(document.activeElement?.getAttribute("aria-label")).toBe("Reviewer settings");
});
