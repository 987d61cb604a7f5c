import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import "./RunsScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";

async function openRuns() {
  const host = createSampleHost("costs-few");
  const { container } = openApp(host, "#/runs");
  const list = await screen.findByRole("list", { name: "History" });
  return { host, container, list };
}

it("keeps the runs that are over, with ways to what they said and changed", async () => {
  const { container, list } = await openRuns();
  const [first] = within(list).getAllByRole("listitem");
  const log = within(first ?? list).getByRole("link", { name: /^Log of #/ });
  expect(log.getAttribute("href")).toMatch(/^#\/task\/p\d\/\d+\?tab=conversation&run=.+$/);
  const changes = within(first ?? list).getByRole("link", { name: /^Changes of #/ });
  expect(changes.getAttribute("href")).toMatch(/\?tab=diff$/);
  expect(await violationsIn(container)).toEqual([]);
});

it("finds runs by text, by how they ended and by project", async () => {
  const { host, list } = await openRuns();
  const all = within(list).getAllByRole("listitem").length;
  await userEvent.click(screen.getByRole("combobox", { name: "Outcome" }));
  await userEvent.click(await screen.findByRole("option", { name: "Failed" }));
  const failed = within(list).getAllByRole("listitem");
  expect(failed.length).toBeLessThan(all);
  for (const row of failed) expect(row.textContent).toContain("Failed");
  await userEvent.type(screen.getByRole("textbox", { name: "Filter runs" }), "no such run");
  await screen.findByText("No match in the runs loaded so far.");
  await userEvent.click(screen.getByRole("combobox", { name: "Project" }));
  await userEvent.click(await screen.findByRole("option", { name: "Parser" }));
  await waitFor(() =>
    expect(inputsOf(host, "cost_ledger").at(-1)).toMatchObject({ project: "p2", limit: 100 }),
  );
});
