import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./ProjectSettingsScreen.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";

it("adds a pattern that is redacted", async () => {
  const host = createSampleHost(null, 20);
  const { container } = openApp(host, "#/settings/project/p1?tab=setup");
  const group = await screen.findByRole("group", { name: "Redact these patterns" });
  await userEvent.click(within(group).getByRole("button", { name: "Add expression" }));
  await userEvent.type(within(group).getByRole("textbox"), "cust-\\d+");
  await userEvent.click(within(group).getByRole("button", { name: "Save" }));
  await waitFor(() =>
    expect(inputsOf(host, "project_settings_update")).toEqual([
      { project_id: "p1", redact: ["cust-\\d+"] },
    ]),
  );
  expect(await violationsIn(container)).toEqual([]);
});
