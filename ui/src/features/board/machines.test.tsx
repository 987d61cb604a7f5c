import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./BoardScreen.tsx";
import { pageOf } from "#ui/test/answers.ts";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { sampleMachines } from "#ui/test/sampleMachines.ts";

const open = (sample: string | null = "machines", query = "") => {
  const host = createSampleHost(sample, 20);
  return { host, ...openApp(host, `#/board/p1${query}`) };
};
const card = (name: RegExp) => screen.findByRole("button", { name });
const cards = () =>
  screen
    .queryAllByRole("button", { name: /^#\d+ / })
    .map((each) => /^#(\d+)/.exec(each.getAttribute("aria-label") ?? "")?.[1]);

describe("a card", () => {
  it("shows the machine of its worktree with the contact, to the eye and to a screen reader", async () => {
    const { container } = open();
    const trained = await card(/^#1 .*, on gpu-box, Connected since /);
    expect(trained.textContent).toContain("gpu-box");
    const cut = await card(/^#3 .*, on attic, Not reachable since /);
    expect(cut.querySelector("[data-contact=unreachable]")).not.toBeNull();
    await card(/^#6 .*, on build-farm, Not contacted yet$/);
    // This computer is nothing to tell of.
    expect((await card(/^#7 /)).getAttribute("aria-label")).toMatch(/old client, In progress$/i);
    expect(await violationsIn(container)).toEqual([]);
  });

  it("follows the contact, and all cards ask but once", async () => {
    const { host } = open();
    await card(/^#1 .*, on gpu-box, Connected/);
    expect(inputsOf(host, "machine_list")).toHaveLength(1);
    expect(inputsOf(host, "machine_get")).toEqual([]);
    const lost = sampleMachines("machines").map((machine) => ({
      ...machine,
      contact: "unreachable" as const,
      contact_since: null,
    }));
    host.answer("machine_list", pageOf(lost));
    host.commit({ tags: ["machines"] });
    await card(/^#1 .*, on gpu-box, Not reachable$/);
    expect(inputsOf(host, "machine_list")).toHaveLength(2);
  });

  it("says what it waits for", async () => {
    open();
    expect((await card(/^#4 /)).textContent).toContain(
      "waits for gpu-box: is at its limit of runs",
    );
    const none = await card(/^#5 /);
    expect(none.textContent).toContain("No machine fits");
    expect(within(none).getByTitle("no machine has the label tpu")).toBeTruthy();
    expect(none.dataset["pressing"]).toBe("warning");
    expect((await card(/^#3 /)).textContent).toContain("Not reachable");
    const queued = await card(/^#9 .*, on hpc, Connected since /);
    expect(queued.textContent).toContain("Queued on the cluster");
    expect(within(queued).getByTitle(/Could not start job 4711 yet/)).toBeTruthy();
    expect(queued.dataset["pressing"]).toBeUndefined();
    expect(queued.querySelector("svg.lucide-calendar-clock")).not.toBeNull();
  });
});

describe("the filter by machine", () => {
  const pick = async (name: string) => {
    await userEvent.click(await screen.findByRole("menuitemcheckbox", { name }));
  };
  const menu = async () =>
    userEvent.click(await screen.findByRole("button", { name: /^(Filter|\d+ filters?)$/ }));

  it("stands in the address and asks the engine for one machine", async () => {
    const { host } = open();
    await card(/^#1 /);
    await menu();
    await pick("attic");
    await waitFor(() => expect(cards()).toEqual(["3"]));
    expect(location.hash).toBe("#/board/p1?machine=m2");
    expect(inputsOf(host, "task_list")).toContainEqual(
      expect.objectContaining({ machine: "m2", limit: 50 }),
    );
  });

  it("is read from the address, tells several machines apart and is cleared with the others", async () => {
    open("machines", "?machine=m1,local");
    await waitFor(() => expect(cards().toSorted()).toEqual(["1", "2", "7"]));
    await userEvent.click(await screen.findByRole("button", { name: "Clear filters" }));
    await waitFor(() => expect(cards()).toHaveLength(9));
    expect(location.hash).toBe("#/board/p1");
  });

  it("offers this computer and every machine, and nothing where there are none", async () => {
    open();
    await card(/^#1 /);
    await menu();
    const names = (await screen.findAllByRole("menuitemcheckbox")).map(
      ({ textContent }) => textContent,
    );
    expect(names.slice(-6)).toEqual([
      "This computer",
      "gpu-box",
      "attic",
      "build-farm",
      "clean-room",
      "hpc",
    ]);
  });

  it("is not there without machines", async () => {
    const { host } = open();
    // The cards have read the machines before they are gone.
    await card(/^#1 .*, on gpu-box, Connected/);
    host.answer("machine_list", pageOf([]));
    host.commit({ tags: ["machines"] });
    await waitFor(() => expect(screen.queryByText("gpu-box")).toBeNull());
    await menu();
    const shown = await screen.findByRole("menu");
    expect(within(shown).queryByText("This computer")).toBeNull();
  });
});
