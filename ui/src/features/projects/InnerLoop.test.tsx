import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import "./ProjectSettingsScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { refuseInput } from "#ui/test/answers.ts";
import { createSampleHost, type SampleHost } from "#ui/test/sampleHost.ts";
import { sampleLoop } from "#ui/test/sampleLoop.ts";
import { sampleOwn, sampleSettings } from "#ui/test/sampleSettings.ts";

async function open(): Promise<{ host: SampleHost; container: HTMLElement }> {
  const host = createSampleHost("races");
  const { container } = openApp(host, "#/settings/project/p1?tab=innerLoop");
  await screen.findByLabelText("Races", { selector: "section" });
  return { host, container };
}

/** What is said of where a value comes from, beside the field of that label. */
function sourceOf(label: string): string {
  const field = screen.getByLabelText(label).closest("[class*=setting]");
  return field?.lastElementChild?.textContent ?? "";
}

it("shows each value with where it comes from", async () => {
  const { container } = await open();
  expect(screen.getByLabelText("Allow races")).toMatchObject({
    ariaChecked: "true",
  });
  expect(sourceOf("Concurrent entries")).toBe(".forge.json");
  expect(sourceOf("Threshold (× median)")).toBe(".forge.json");
  expect(sourceOf("Time limit")).toBe("Default");
  expect(sourceOf("Stop reviews without progress")).toBe("Default");
  expect(await violationsIn(container)).toEqual([]);
});

it("wins over the file, value by value, and gives a value back", async () => {
  const { host } = await open();
  const own = sampleSettings({ ...sampleOwn, innerLoop: { competitive: { maxParallel: 4 } } });
  const loop = {
    ...sampleLoop,
    config: {
      ...sampleLoop.config,
      competitive: { ...sampleLoop.config.competitive, maxParallel: 4 },
    },
    sources: { ...sampleLoop.sources, "competitive.maxParallel": "project" as const },
  };
  const answer = (settings: typeof own, state: typeof sampleLoop) => () => {
    host.answer("project_settings_get", settings);
    host.answer("project_inner_loop", state);
  };
  host.after("project_settings_update", own, answer(own, loop), "projects");
  const field = screen.getByLabelText("Concurrent entries");
  await userEvent.clear(field);
  await userEvent.type(field, "4{Enter}");
  await waitFor(() => expect(sourceOf("Concurrent entries")).not.toBe(".forge.json"));
  const reset = await screen.findByRole("button", { name: "Reset Concurrent entries to default" });
  const before = sampleSettings(sampleOwn);
  host.after("project_settings_update", before, answer(before, sampleLoop), "projects");
  await userEvent.click(reset);
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(sourceOf("Concurrent entries")).toBe(".forge.json"));
  expect(inputsOf(host, "project_settings_update")).toEqual([
    { project_id: "p1", innerLoop: { competitive: { maxParallel: 4 } } },
    { project_id: "p1", innerLoop: { competitive: { maxParallel: null } } },
  ]);
});

it("takes a ratio with a fraction", async () => {
  const { host } = await open();
  const field = screen.getByLabelText("Threshold (× median)");
  await userEvent.clear(field);
  await userEvent.type(field, "2.5x{Enter}");
  await waitFor(() =>
    expect(inputsOf(host, "project_settings_update")).toEqual([
      { project_id: "p1", innerLoop: { costAnomaly: { ratio: 2.5 } } },
    ]),
  );
});

it("keeps strategies as a whole, and says what is wrong at the field", async () => {
  const { host } = await open();
  const group = screen.getByRole("group", { name: "Strategies" });
  const add = within(group).getByRole("button", { name: "Add strategy" });
  await userEvent.click(add);
  await userEvent.click(add);
  const [first, second] = within(group).getAllByRole("textbox", { name: "Name" });
  if (!first || !second) throw new Error("no fields");
  host.answer("project_settings_update", () =>
    refuseInput(
      "failed to change the settings: the input is not valid",
      "innerLoop.competitive.strategies[1].name",
      "`codex-local` is used twice",
    ),
  );
  await userEvent.clear(second);
  await userEvent.type(second, (first as HTMLInputElement).value);
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await within(group).findByText(/is used twice/);
  expect(second.getAttribute("aria-invalid")).toBe("true");
  expect(first.getAttribute("aria-invalid")).not.toBe("true");
  host.answer("project_settings_update", sampleSettings(sampleOwn));
  await userEvent.type(second, "-2");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(inputsOf(host, "project_settings_update")).toHaveLength(2));
  expect(inputsOf(host, "project_settings_update")[1]).toMatchObject({
    innerLoop: {
      competitive: {
        strategies: [
          { name: "codex-local", agent_id: "a1" },
          { name: "codex-local-2", agent_id: "a2" },
        ],
      },
    },
  });
});

it("shows what .forge.json says, and what is wrong in it", async () => {
  await open();
  const file = screen.getByLabelText(".forge.json", { selector: "section" });
  expect(within(file).getByRole("alert").textContent).toContain("innerLoop.costAnomaly.ratoi");
  expect(file.textContent).toContain('"maxParallel": 3');
});
