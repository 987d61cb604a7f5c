import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { inputsOf, openApp } from "#ui/test/renderApp.tsx";
import { createSampleHost, type SampleHost } from "#ui/test/sampleHost.ts";
import { sampleLoopWithoutRaces } from "#ui/test/sampleLoop.ts";
import { sampleEstimateOf } from "#ui/test/sampleRaceHost.ts";

async function named(host: SampleHost, title: string): Promise<HTMLElement> {
  openApp(host, "#/attention");
  await screen.findByRole("heading", { level: 1, name: "Attention" });
  await userEvent.keyboard("c");
  const dialog = await screen.findByRole("dialog", { name: "New task" });
  await userEvent.type(within(dialog).getByRole("textbox", { name: "Title" }), title);
  return dialog;
}

const mark = (dialog: HTMLElement) =>
  userEvent.click(within(dialog).getByRole("checkbox", { name: /Race agents for this task/ }));

it("marks a new task for a race, with limits of its own where they are given", async () => {
  const host = createSampleHost("races");
  const dialog = await named(host, "Say hello");
  await mark(dialog);
  await userEvent.type(await within(dialog).findByRole("textbox", { name: "Time limit" }), "600");
  await userEvent.click(within(dialog).getByRole("button", { name: /^Create(?! and)/ }));
  await waitFor(() =>
    expect(inputsOf(host, "task_create")).toEqual([
      { project_id: "p1", title: "Say hello", race: { enabled: true, timeoutSec: 600 } },
    ]),
  );
});

it("says where races are switched on when they are off", async () => {
  const host = createSampleHost("races");
  host.answer("project_inner_loop", sampleLoopWithoutRaces);
  const dialog = await named(host, "Say hello");
  await mark(dialog);
  const said = await within(dialog).findByText(/Races are off/);
  const status = said.closest<HTMLElement>("[role=status]")!;
  expect(within(status).getByRole("link")).toBeTruthy();
  expect(within(dialog).queryByRole("textbox", { name: "Time limit" })).toBeNull();
});

it("says what a race is likely to cost before the task is made", async () => {
  const dialog = await named(createSampleHost("races"), "Say hello");
  expect(within(dialog).queryByText(/Expected cost/)).toBeNull();
  await mark(dialog);
  expect(await within(dialog).findByText("Expected cost: about $0.07 in total")).toBeTruthy();
});

it("counts strategies as they are typed", async () => {
  const host = createSampleHost("races");
  const dialog = await named(host, "Say hello");
  await mark(dialog);
  host.answer("project_race_estimate", ({ strategies }) =>
    sampleEstimateOf((strategies ?? []).map(({ model }) => (model ? null : 42_000))),
  );
  await userEvent.click(
    await within(dialog).findByRole("checkbox", { name: /^Custom strategies/ }),
  );
  await userEvent.click(within(dialog).getByRole("button", { name: "Add strategy" }));
  await userEvent.click(within(dialog).getByRole("button", { name: "Add strategy" }));
  expect(await within(dialog).findByText("Expected cost: about $0.08 in total")).toBeTruthy();
  const [, second] = within(dialog).getAllByRole("textbox", { name: /^Model/ });
  if (!second) throw new Error("there is no second strategy");
  await userEvent.type(second, "new");
  expect(await within(dialog).findByText(/Expected cost: unknown/)).toBeTruthy();
});
