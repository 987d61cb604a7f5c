import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./ProjectSettingsScreen.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { sampleSettings } from "#ui/test/sampleSettings.ts";

it("makes files and contracts the last check of every review", async () => {
  const host = createSampleHost(null, 20);
  const saved = sampleSettings({ review_config: { validate: { files: ["src/limit.ts"] } } });
  const next = () => host.answer("project_settings_get", saved);
  host.after("project_settings_update", saved, next, "projects");
  const { container } = openApp(host, "#/settings/project/p1?tab=checks");
  await userEvent.click(await screen.findByRole("button", { name: "Add file" }));
  const files = screen.getByRole("group", { name: "Files" });
  await userEvent.type(within(files).getByRole("textbox"), "src/limit.ts");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(screen.queryByRole("button", { name: "Save" })).toBeNull());
  await userEvent.click(await screen.findByRole("button", { name: "Add contract" }));
  const contracts = screen.getByRole("group", { name: "Contracts" });
  const box = (name: RegExp) => within(contracts).getByRole("textbox", { name });
  await userEvent.type(box(/that imports/), "src/login.ts");
  // Half a contract is none.
  expect(screen.queryByRole("button", { name: "Save" })).toBeNull();
  await userEvent.type(box(/that exports/), "src/limit.ts");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  const gate = (change: object) => ({
    project_id: "p1",
    review_config: { validate: change },
  });
  await waitFor(() =>
    expect(inputsOf(host, "project_settings_update")).toEqual([
      gate({ files: ["src/limit.ts"] }),
      gate({ contractChecks: [{ importer: "src/login.ts", exporter: "src/limit.ts" }] }),
    ]),
  );
  expect(await violationsIn(container)).toEqual([]);
});
