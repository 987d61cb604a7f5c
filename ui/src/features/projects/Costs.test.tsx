import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./ProjectSettingsScreen.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { sampleOwn, sampleSettings } from "#ui/test/sampleSettings.ts";

it("sets a limit in dollars, and returns to none", async () => {
  const host = createSampleHost(null, 20);
  const limited = sampleSettings({ ...sampleOwn, cost_limits: { day_micro_usd: 12_500_000 } });
  const show = () => host.answer("project_settings_get", limited);
  host.after("project_settings_update", limited, show, "projects");
  const { container } = openApp(host, "#/settings/project/p1?tab=costs");
  await userEvent.type(await screen.findByRole("textbox", { name: "Per day" }), "12.5{Enter}");
  await screen.findByRole("button", { name: "Reset Per day to default" });
  const field = screen.getByRole("textbox", { name: "Per day" });
  expect((field as HTMLInputElement).value).toBe("12.5");
  await userEvent.clear(field);
  await userEvent.type(field, "{Enter}");
  await waitFor(() =>
    expect(inputsOf(host, "project_settings_update")).toEqual([
      { project_id: "p1", cost_limits: { day_micro_usd: 12_500_000 } },
      { project_id: "p1", cost_limits: { day_micro_usd: null } },
    ]),
  );
  expect(await violationsIn(container)).toEqual([]);
});

it("keeps prices of models in dollars per million tokens", async () => {
  const host = createSampleHost(null, 20);
  openApp(host, "#/settings/project/p1?tab=costs");
  await userEvent.click(await screen.findByRole("button", { name: "Add model" }));
  const group = screen.getByRole("group", { name: "Model prices" });
  const box = (name: string) => within(group).getByRole("textbox", { name });
  await userEvent.type(box("Model 1"), "local-model");
  await userEvent.type(box("Input price of local-model"), "0.4");
  expect(within(group).getByText(/Enter an input and an output price/)).toBeTruthy();
  await userEvent.type(box("Output price of local-model"), "2");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() =>
    expect(inputsOf(host, "project_settings_update")).toEqual([
      {
        project_id: "p1",
        model_prices: { "local-model": { input: 400_000, output: 2_000_000 } },
      },
    ]),
  );
});
