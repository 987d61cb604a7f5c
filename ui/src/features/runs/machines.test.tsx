import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./RunsScreen.tsx";
import { pageOf, refuse } from "#ui/test/answers.ts";
import { openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { samplePlacedRuns } from "#ui/test/samplePlacedTasks.ts";
import { placeOf, runsAt } from "./places.ts";

const open = (query = "") => {
  const host = createSampleHost("machines", 20);
  return { host, ...openApp(host, `#/runs${query}`) };
};
const loads = () => screen.findByRole("list", { name: "Machines" });
const numbers = () =>
  [...document.querySelectorAll("[data-run]")].map(
    ({ textContent }) => /^#(\d+)/.exec(textContent ?? "")?.[1],
  );

describe("machines of runs", () => {
  it("are all shown with their load, contact and draining", async () => {
    const { container } = open();
    await waitFor(() => expect(numbers()).toEqual(["1", "2", "7"]));
    const texts = within(await loads())
      .getAllByRole("button")
      .map(({ textContent }) => textContent);
    expect(texts[0]).toBe("This computer 1 run");
    expect(texts[1]).toMatch(/^gpu-box, Connected since .* 2 of 2 runs$/);
    expect(texts[2]).toMatch(/^attic, Not reachable since .*0 runs$/);
    expect(texts[3]).toBe("build-farm, Not contacted yet 0 runs Draining");
    expect(await violationsIn(container)).toEqual([]);
  });

  it("stand at each run that is elsewhere, whose processes are not listed here", async () => {
    open();
    const list = await screen.findByRole("list", { name: "Runs" });
    await waitFor(() => expect(list.children[0]?.textContent).toContain("gpu-box"));
    expect(list.children[2]?.textContent).not.toContain("gpu-box");
    expect(list.children[0]?.textContent).toMatch(/CPU –Memory –/);
    await userEvent.click(screen.getByRole("button", { name: /^0 processes of Train/ }));
    await within(list).findByText("Processes on gpu-box are not listed here.");
  });

  it("narrow the list by a press, in the address, and show all by the next", async () => {
    open();
    await waitFor(() => expect(numbers()).toHaveLength(3));
    const gpu = within(await loads()).getByRole("button", { name: /^gpu-box/ });
    await userEvent.click(gpu);
    await waitFor(() => expect(numbers()).toEqual(["1", "2"]));
    expect(gpu.getAttribute("aria-pressed")).toBe("true");
    expect(location.hash).toBe("#/runs?machine=m1");
    await userEvent.click(gpu);
    await waitFor(() => expect(numbers()).toHaveLength(3));
    expect(location.hash).toBe("#/runs");
  });

  it("on which nothing runs say so, with a way back", async () => {
    open("?machine=m2");
    await screen.findByText("Nothing is running there");
    await userEvent.click(screen.getByRole("button", { name: "Show all runs" }));
    await waitFor(() => expect(numbers()).toHaveLength(3));
  });

  it("that cannot be read are told of, and keep no run from being shown", async () => {
    const host = createSampleHost("machines", 20);
    host.answer("machine_list", () => refuse("internal", "the database is locked"));
    openApp(host, "#/runs");
    await screen.findByText("Could not load the machines");
    await waitFor(() => expect(numbers()).toHaveLength(3));
  });

  it("are not there where there are none", async () => {
    const { host } = open();
    await loads();
    host.answer("machine_list", pageOf([]));
    host.commit({ tags: ["machines"] });
    await waitFor(() => expect(screen.queryByRole("list", { name: "Machines" })).toBeNull());
  });
});

it("places a run on its machine, and on this computer otherwise", () => {
  const runs = samplePlacedRuns(1);
  expect(runs.map(placeOf)).toEqual(["m1", "m1", "local"]);
  expect(runsAt(runs, "m1")).toEqual(runs.slice(0, 2));
  expect(runsAt(runs, null)).toEqual(runs);
});
