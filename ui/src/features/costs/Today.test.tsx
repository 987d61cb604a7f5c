import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./CostsScreen.tsx";
import type { CostForecast } from "#ui/api/generated.ts";
import { pageOf, refuse } from "#ui/test/answers.ts";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { sampleProject } from "#ui/test/sample.ts";
import { sampleForecast } from "#ui/test/sampleCosts.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";

const evening = new Date(2030, 0, 15, 18, 40).toISOString();
const midnight = new Date(2030, 0, 16).toISOString();

function open(change: Partial<CostForecast> = {}, hash = "#/costs?of=p1") {
  const host = createSampleHost("costs-few");
  const dated = { reaches_limit_at: evening, day_ends_at: midnight };
  host.answer("cost_forecast", sampleForecast({ ...dated, ...change }));
  return { host, ...openApp(host, hash) };
}

/** What stands below each term of the card. */
async function told(): Promise<Record<string, string>> {
  const card = await screen.findByRole("region", { name: "Today" });
  return Object.fromEntries(
    within(card)
      .getAllByRole("term")
      .map((term) => [term.textContent, term.nextElementSibling?.textContent ?? ""]),
  );
}

it("tells the day of the chosen project, its limit and when it is reached", async () => {
  const { host, container } = open();
  const facts = await told();
  expect(Object.keys(facts)).toEqual([
    "Cost so far",
    "Forecast for today",
    "Daily limit",
    "Limit reached",
  ]);
  expect(facts["Cost so far"]).toBe("$6.18of runs started today");
  expect(facts["Forecast for today"]).toBe("$12.40at the pace of the last hours");
  expect(facts["Daily limit"]).toBe("$10.0062%");
  expect(facts["Limit reached"]).toMatch(/^6:40\sPM/);
  const meter = screen.getByRole("meter", { name: "Used of the daily limit" });
  expect(meter.getAttribute("aria-valuetext")).toBe("62%");
  expect(inputsOf(host, "cost_forecast")).toEqual([{ project_id: "p1" }]);
  expect(await violationsIn(container)).toEqual([]);
});

it.each<[string, Partial<CostForecast>, Record<string, string | RegExp>]>([
  [
    "right after midnight",
    { today_micro_usd: 0, day_end_micro_usd: null, reaches_limit_at: null },
    { "Cost so far": /^\$0\.00/, "Daily limit": "$10.000%" },
  ],
  [
    "without a limit",
    { limit_micro_usd: null, reaches_limit_at: null },
    { "Cost so far": /^\$6\.18/, "Forecast for today": /^\$12\.40/ },
  ],
  [
    "with a limit that the day does not reach",
    { day_end_micro_usd: 9_000_000, reaches_limit_at: null },
    {
      "Cost so far": /^\$6\.18/,
      "Forecast for today": /^\$9\.00/,
      "Daily limit": "$10.0062%",
      "Limit reached": /^Not today/,
    },
  ],
  [
    "near the limit",
    { today_micro_usd: 8_000_000 },
    {
      "Cost so far": /^\$8\.00/,
      "Forecast for today": /^\$12\.40/,
      "Daily limit": "$10.0080%Nearly reached",
      "Limit reached": /^6:40/,
    },
  ],
  [
    "above the limit",
    { today_micro_usd: 11_000_000, day_end_micro_usd: 11_000_000, reaches_limit_at: null },
    {
      "Cost so far": /^\$11\.00/,
      "Forecast for today": /^\$11\.00/,
      "Daily limit": "$10.00110%",
      "Limit reached": /^NowFurther runs wait until 12:00\sAM\.$/,
    },
  ],
])("tells what is known %s", async (_, change, expected) => {
  open(change);
  const facts = await told();
  expect(Object.keys(facts)).toEqual(Object.keys(expected));
  for (const [name, text] of Object.entries(expected)) expect(facts[name]).toMatch(text);
});

it("is the day of the only project, and of none while several are shown", async () => {
  const { host, unmount } = open({}, "#/costs");
  await screen.findByRole("region", { name: "Totals" });
  expect(screen.queryByRole("region", { name: "Today" })).toBeNull();
  expect(inputsOf(host, "cost_forecast")).toEqual([]);
  unmount();
  const single = createSampleHost("costs-few");
  single.answer("project_list", pageOf([sampleProject({ id: "p7" })]));
  openApp(single, "#/costs");
  await screen.findByRole("region", { name: "Today" });
  expect(inputsOf(single, "cost_forecast")).toEqual([{ project_id: "p7" }]);
});

it("says why there is no forecast, beside the costs", async () => {
  const host = createSampleHost("costs-few");
  host.answer("cost_forecast", () => refuse("internal", "the database is locked"));
  openApp(host, "#/costs?of=p1");
  expect(await screen.findByText("Could not load the forecast")).toBeTruthy();
  expect(await screen.findByRole("region", { name: "Totals" })).toBeTruthy();
});
