import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
// Loaded before the tests: as chunks they may take longer than a test has.
import "#ui/app/TaskPage.tsx";
import "#ui/features/task/TaskPanel.tsx";
import "#ui/features/costs/CostChart.tsx";
import "#ui/features/costs/CostsScreen.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { pageOf, type Output } from "#ui/test/answers.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";

it("shows the course, what is out of the ordinary, sums and every run", async () => {
  const host = createSampleHost("costs-few");
  const { container } = openApp(host, "#/costs");
  const chart = await screen.findByRole("img", { name: /Cost of 50 runs with claude-opus/ });
  expect(chart.getAttribute("aria-label")).toMatch(/\d+ anomal/);
  const found = screen.getByRole("region", { name: "Anomalies" });
  const first = within(found).getAllByRole("link")[0];
  expect(first?.getAttribute("href")).toMatch(/^#\/task\/p1\/\d+$/);
  expect(first?.textContent).toMatch(/\$.*, median \$.*×/);

  const sums = screen.getByRole("region", { name: "Totals" });
  expect(within(sums).getByRole("table", { name: "Totals: Day" })).toBeTruthy();
  await userEvent.click(within(sums).getByRole("radio", { name: "Agent" }));
  const byAgent = within(sums).getByRole("table", { name: "Totals: Agent" });
  // What nobody knows is not nothing.
  expect(within(byAgent).getByRole("row", { name: /Shell/ }).textContent).toContain("unknown");

  const runs = screen.getByRole("region", { name: "All runs" });
  const table = await within(runs).findByRole("table");
  expect(within(table).getAllByText("unknown").length).toBeGreaterThan(0);
  expect(table.textContent).toContain("quick won");
  expect(table.textContent).toContain("careful lost");
  expect(await violationsIn(container)).toEqual([]);
});

it("says in a table what the chart draws", async () => {
  openApp(createSampleHost("costs-few"), "#/costs");
  const course = await screen.findByRole("region", { name: "Cost of coder runs" });
  await userEvent.click(within(course).getByRole("radio", { name: "Table" }));
  const rows = within(within(course).getByRole("table")).getAllByRole("row");
  expect(rows).toHaveLength(51);
  expect(rows.slice(1).some((row) => row.textContent?.endsWith("Anomaly"))).toBe(true);
  expect(within(course).queryByRole("img")).toBeNull();
});

it("asks for what the filters in the address say, and saves it as CSV", async () => {
  const host = createSampleHost("costs-few");
  openApp(host, "#/costs?of=p1&range=all");
  await screen.findByRole("region", { name: "Totals" });
  expect(inputsOf(host, "cost_totals")).toEqual([{ project: "p1" }]);
  await userEvent.click(screen.getByRole("radio", { name: "7 days" }));
  await waitFor(() =>
    expect(inputsOf(host, "cost_totals").at(-1)).toEqual({
      project: "p1",
      since: expect.stringMatching(/Z$/),
    }),
  );
  expect(location.hash).toContain("range=7");
  await userEvent.click(screen.getByRole("button", { name: "CSV" }));
  await waitFor(() => expect(host.saved).toHaveLength(1));
  expect(host.saved[0]?.name).toBe("forge-costs.csv");
  expect(host.saved[0]?.text.split("\r\n")).toHaveLength(102);
});

it("shows the first anomalies, and the others when they are wanted", async () => {
  const host = createSampleHost("costs");
  const { items } = (await host.call("cost_anomalies", { limit: 50 })) as {
    items: readonly unknown[];
  };
  openApp(host, "#/costs?range=all");
  const further = await screen.findByRole("button", { name: `Show ${items.length - 8} more` });
  const list = screen.getByRole("region", { name: "Anomalies" });
  expect(list.querySelectorAll("[data-anomaly]")).toHaveLength(8);
  await userEvent.click(further);
  expect(list.querySelectorAll("[data-anomaly]")).toHaveLength(items.length);
  expect(further.isConnected).toBe(false);
});

it("says that there is nothing, and why it could not be read", async () => {
  const { unmount } = openApp(createSampleHost("empty"), "#/costs?range=all");
  expect(await screen.findByText("No costs yet")).toBeTruthy();
  unmount();
  openApp(createSampleHost("broken"), "#/costs");
  expect(await screen.findByText("Could not load the costs")).toBeTruthy();
});

it("tells on the task what was out of the ordinary", async () => {
  const host = createSampleHost("costs-few");
  const { items } = (await host.call("cost_anomalies", {})) as Output<"cost_anomalies">;
  host.answer("cost_anomalies", ({ task_id }) => pageOf(task_id === "t3" ? items : []));
  openApp(host, "#/task/p1/3?tab=timeline");
  const list = await screen.findByRole("list", { name: "Cost anomalies" });
  expect(list.textContent).toMatch(/cost \$.*× the median of \$.* for runs with/);
});
