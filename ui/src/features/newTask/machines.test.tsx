import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { pageOf, refuseInput } from "#ui/test/answers.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { sampleMachine } from "#ui/test/sampleMachines.ts";

async function named(sample: string | null, machines?: ReturnType<typeof sampleMachine>[]) {
  const host = createSampleHost(sample, 20);
  if (machines) host.answer("machine_list", pageOf(machines));
  const { container } = openApp(host, "#/attention");
  await screen.findByRole("heading", { level: 1, name: "Attention" });
  await userEvent.keyboard("c");
  const dialog = await screen.findByRole("dialog", { name: "New task" });
  await userEvent.type(within(dialog).getByRole("textbox", { name: "Title" }), "Say hello");
  return { host, container, dialog };
}
const choose = async (dialog: HTMLElement, name: string) => {
  await userEvent.click(await within(dialog).findByRole("combobox", { name: "Runs on" }));
  await userEvent.click(await screen.findByRole("option", { name }));
};
const create = async (dialog: HTMLElement) =>
  userEvent.click(within(dialog).getByRole("button", { name: /^Create(?! and)/ }));

it("takes labels that are picked and typed, and says which machine fits now", async () => {
  const { host, dialog } = await named("machines");
  await choose(dialog, "Machines with labels");
  await within(dialog).findByText(/^Enter at least one label/);
  const known = within(dialog).getByRole("group", { name: "Known labels and machines" });
  const chip = (name: string) => within(known).getByRole("button", { name });
  await userEvent.click(chip("gpu"));
  expect(chip("gpu").getAttribute("aria-pressed")).toBe("true");
  await within(dialog).findByText("gpu-box fits, but has no free slot.");
  await userEvent.click(chip("gpu"));
  await userEvent.click(chip("attic"));
  await within(dialog).findByText("attic fits, but is not reachable.");
  const box = within(dialog).getByRole("textbox", { name: "Labels or machine names" });
  await userEvent.clear(box);
  await userEvent.type(box, "tpu");
  await within(dialog).findByText("No machine has the label tpu.");
  await userEvent.type(box, ", gpu");
  await within(dialog).findByText("No machine has all of the labels tpu, gpu.");
  expect(chip("gpu").getAttribute("aria-pressed")).toBe("true");
  expect(await violationsIn(dialog)).toEqual([]);
  await create(dialog);
  await waitFor(() =>
    expect(inputsOf(host, "task_create")).toEqual([
      { project_id: "p1", title: "Say hello", machines: ["tpu", "gpu"] },
    ]),
  );
});

it("runs on this computer when that is chosen", async () => {
  const { host, dialog } = await named(null);
  await choose(dialog, "This computer");
  await create(dialog);
  await waitFor(() =>
    expect(inputsOf(host, "task_create")).toEqual([
      { project_id: "p1", title: "Say hello", machines: [] },
    ]),
  );
});

it("runs where agent or project say when nothing is chosen", async () => {
  const { host, dialog } = await named(null);
  const where = await within(dialog).findByRole("combobox", { name: "Runs on" });
  expect(where.textContent).toBe("Agent or project setting");
  await create(dialog);
  await waitFor(() =>
    expect(inputsOf(host, "task_create")).toEqual([{ project_id: "p1", title: "Say hello" }]),
  );
});

it("shows at the field what the engine found wrong", async () => {
  const { host, dialog } = await named(null);
  host.answer("task_create", () =>
    refuseInput("failed to create the task", "machines[0]", "must be a label"),
  );
  await choose(dialog, "Machines with labels");
  const box = within(dialog).getByRole("textbox", { name: "Labels or machine names" });
  await userEvent.type(box, "x");
  await create(dialog);
  await within(dialog).findByText("must be a label");
  expect(box.getAttribute("aria-invalid")).toBe("true");
});

it("does not ask whoever has no machines", async () => {
  const { dialog } = await named(null, []);
  await within(dialog).findByRole("combobox", { name: "Priority" });
  expect(within(dialog).queryByRole("combobox", { name: "Runs on" })).toBeNull();
});
