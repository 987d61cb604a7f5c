import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import "#ui/app/TaskPage.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import "../TaskPanel.tsx";
import "../diff/DiffTab.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { movedTask, pageOf } from "#ui/test/answers.ts";
import { createSampleHost, type SampleHost } from "#ui/test/sampleHost.ts";
import { badgeOf, sampleRaces } from "#ui/test/sampleRaces.ts";

// By its label: to work out every role of the window takes longer than a test has.
const lane = (name: string) => screen.findByLabelText(`Entry ${name}`, { selector: "li" });

function open(number: number): { host: SampleHost; container: HTMLElement } {
  const host = createSampleHost("races");
  const { container } = openApp(host, `#/task/p1/${number}?tab=race`);
  return { host, container };
}

/** What is known of an entry, by its name. */
function factsOf(entry: HTMLElement): Record<string, string> {
  const names = within(entry).getAllByRole("term");
  const values = within(entry).getAllByRole("definition");
  return Object.fromEntries(
    names.map((name, index) => [name.textContent ?? "", values[index]?.textContent ?? ""]),
  );
}

describe("a race that is decided", () => {
  it("shows its entries side by side, who won and why", async () => {
    const { container } = open(4);
    const winner = await lane("cheap");
    expect(within(winner).getByText("Winner")).toBeTruthy();
    expect(factsOf(winner)).toMatchObject({ Checks: "Passed", Cost: "$0.02", Time: "3m 04s" });
    const loser = await lane("broken");
    expect(factsOf(loser)).toMatchObject({ Checks: "Failed" });
    expect(loser.textContent).toContain("cargo test exits with 101");
    const trail = screen.getByRole("region", { name: "How the winner was chosen" });
    expect(
      within(trail)
        .getAllByRole("listitem")
        .map((line) => line.textContent),
    ).toEqual([
      "Checks broken is out: checks failed.",
      "Cost dear is out: cost $0.03, cheap cost $0.02.",
    ]);
    expect(screen.queryByRole("button", { name: /^Pick/ })).toBeNull();
    expect(await violationsIn(container)).toEqual([]);
  });

  it("opens any entry's changes, which nobody comments, and comes back to where it was", async () => {
    const { host } = open(4);
    await userEvent.click(
      within(await lane("broken")).getByRole("button", { name: "Changes by broken" }),
    );
    const entry = await screen.findByRole("region", { name: "Entry broken" });
    await within(entry).findByRole("button", { name: "Next change" });
    expect(inputsOf(host, "task_diff")).toEqual([{ task_id: "t4-broken", scope: "task" }]);
    expect(within(entry).queryByRole("button", { name: "Comment on file" })).toBeNull();
    expect(within(entry).queryByRole("combobox")).toBeNull();
    await userEvent.click(within(entry).getByRole("button", { name: "All entries" }));
    const back = within(await lane("broken")).getByRole("button", { name: "Changes by broken" });
    expect(document.activeElement).toBe(back);
  });

  it("opens any entry's conversation, in which nothing is said to it", async () => {
    const { host } = open(4);
    await userEvent.click(
      within(await lane("dear")).getByRole("button", { name: "Conversation of dear" }),
    );
    await waitFor(() =>
      expect(inputsOf(host, "task_executions")).toContainEqual({ task_id: "t4-dear" }),
    );
    const entry = await screen.findByRole("region", { name: "Entry dear" });
    expect(within(entry).queryByRole("textbox")).toBeNull();
  });
});

describe("a race that runs", () => {
  it("shows each entry's state, and what it does now", async () => {
    const { container } = open(1);
    const states = await Promise.all(
      ["careful", "night-shift", "quick", "slow", "steady"].map(async (name) => {
        const entry = await lane(name);
        return entry.querySelector("header")?.textContent;
      }),
    );
    expect(states).toEqual([
      "carefulRunning",
      "night-shiftQueued",
      "quickFailed",
      "slowTimed out",
      "steadyFinished",
    ]);
    const careful = await lane("careful");
    await within(careful).findByText(/cargo test --workspace/);
    expect(careful.textContent).toContain("of 30m");
    expect((await lane("quick")).textContent).toContain("The agent ended with code 1");
    expect(factsOf(await lane("steady"))["Score"]).toBe("82 of 100");
    expect(await violationsIn(container)).toEqual([]);
  });

  it("is read again when something happens to an entry, and not otherwise", async () => {
    const { host } = open(1);
    await lane("careful");
    const reads = () => inputsOf(host, "task_races").length;
    const before = reads();
    act(() => host.commit({ tags: ["task:t1-careful"] }));
    await waitFor(() => expect(reads()).toBe(before + 1));
    act(() => host.commit({ tags: ["task:t4-careful"] }));
    act(() => host.commit({ tags: ["task:t1-quick"] }));
    await waitFor(() => expect(reads()).toBe(before + 2));
  });
});

describe("a race that waits for its winner", () => {
  it("gives it to who is asked for, after saying what follows", async () => {
    const { host } = open(2);
    expect(within(await lane("broad")).getByText("Suggested winner")).toBeTruthy();
    await userEvent.click(
      within(await lane("narrow")).getByRole("button", { name: "Pick as winner: narrow" }),
    );
    const dialog = await screen.findByRole("alertdialog", { name: "Pick narrow as winner?" });
    expect(dialog.textContent).toContain("The rules suggest broad.");
    const waiting = sampleRaces.find(({ task_id }) => task_id === "t2");
    if (!waiting) throw new Error("no race waits");
    const picked = {
      ...waiting,
      status: "promoted" as const,
      winner: "narrow",
      crowned_by: "user:board",
      finished_at: new Date().toISOString(),
    };
    host.answer("task_action", () => {
      host.answer("task_races", pageOf([picked]));
      const change = { status: "review", raced: badgeOf(picked), waiting: null, offers: [] };
      return movedTask(host.change("t2", change));
    });
    await userEvent.click(within(dialog).getByRole("button", { name: "Pick narrow as winner" }));
    await waitFor(() => expect(inputsOf(host, "task_action")).toHaveLength(1));
    expect(inputsOf(host, "task_action")).toMatchObject([
      { task_id: "t2", verb: "crown", entry: "narrow" },
    ]);
    expect(await screen.findByText("narrow was picked as winner")).toBeTruthy();
    expect(screen.getByText("You (board) picked narrow as winner instead of broad.")).toBeTruthy();
  });

  it("is offered in the banner, with who is elected chosen beforehand", async () => {
    const host = createSampleHost("races");
    openApp(host, "#/task/p1/2");
    const banner = await screen.findByRole("alert", { name: "Choose the winner" });
    await userEvent.click(within(banner).getByRole("button", { name: "Pick as winner" }));
    const form = await within(banner).findByRole("form", { name: "Pick as winner" });
    expect(within(form).getByRole("combobox", { name: "Winner" }).textContent).toContain("broad");
    await userEvent.click(within(form).getByRole("button", { name: "Pick broad as winner" }));
    await waitFor(() =>
      expect(inputsOf(host, "task_action")).toMatchObject([{ verb: "crown", entry: "broad" }]),
    );
  });
});

describe("a race that nobody won", () => {
  it("offers to race again, to go on with one, or to take one all the same", async () => {
    const { host } = open(3);
    const banner = await screen.findByRole("alert", { name: "No race entry passed" });
    expect(
      within(banner)
        .getAllByRole("button")
        .map((each) => each.textContent),
    ).toEqual(["Race again", "Use one agent", "Pick as winner"]);
    // Who changed nothing has nothing that could be taken.
    expect(within(await lane("b")).queryByRole("button", { name: "Pick as winner: b" })).toBeNull();
    expect(within(await lane("a")).getByRole("button", { name: "Pick as winner: a" })).toBeTruthy();
    await userEvent.click(within(banner).getByRole("button", { name: "Race again" }));
    await waitFor(() =>
      expect(inputsOf(host, "task_action")).toMatchObject([{ verb: "race_again" }]),
    );
  });

  it("keeps the earlier ones to look at, without the button that picks a winner", async () => {
    open(3);
    await lane("b");
    await userEvent.click(screen.getByRole("combobox", { name: "Select race" }));
    await userEvent.click(await screen.findByRole("option", { name: "Race 1" }));
    expect(await screen.findByText("Race cancelled")).toBeTruthy();
    expect(screen.queryByRole("button", { name: /^Pick a as/ })).toBeNull();
  });
});

it("says how to race while nothing was raced, and has no tab without a race", async () => {
  open(5);
  expect(await screen.findByText("Not raced yet")).toBeTruthy();
  location.hash = "#/task/p1/6?tab=race";
  await screen.findByRole("heading", { level: 2, name: /Write the release notes/ });
  expect(screen.queryByRole("tab", { name: "Race" })).toBeNull();
});

it("is reached from the banner", async () => {
  openApp(createSampleHost("races"), "#/task/p1/1");
  const banner = await screen.findByRole("status", { name: "Race in progress" });
  await userEvent.click(within(banner).getByRole("button", { name: "Open race" }));
  expect(await lane("careful")).toBeTruthy();
});
