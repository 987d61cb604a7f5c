import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { inputsOf, openApp } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import "./NewTaskDialog.tsx"; // Before the tests: as a chunk it may take longer than a test has.

async function openDialog(): Promise<HTMLElement> {
  await userEvent.keyboard("c");
  return screen.findByRole("dialog", { name: "New task" });
}

async function begin() {
  const host = createSampleHost(null, 20);
  openApp(host, "#/attention");
  await screen.findByRole("heading", { level: 1, name: "Attention" });
  const dialog = await openDialog();
  await userEvent.type(within(dialog).getByRole("textbox", { name: "Title" }), "Say hello");
  await userEvent.type(within(dialog).getByRole("combobox", { name: "Depends on" }), "#3");
  await userEvent.click(await screen.findByRole("option", { name: /^#3 / }));
  await userEvent.click(within(dialog).getByRole("checkbox", { name: /^Custom checks/ }));
  return { host, dialog };
}

const gone = () => waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());

it("keeps what is written when Escape closes the dialog, until the task is made", async () => {
  const { host } = await begin();
  await userEvent.keyboard("{Escape}");
  await gone();
  const again = await openDialog();
  const title = within(again).getByRole<HTMLInputElement>("textbox", { name: "Title" });
  expect(title.value).toBe("Say hello");
  await userEvent.click(within(again).getByRole("button", { name: /^Create(?! and)/ }));
  await waitFor(() =>
    expect(inputsOf(host, "task_create")).toMatchObject([
      { title: "Say hello", depends_on: ["t3"], review_config: { ci_steps: [] } },
    ]),
  );
  await gone();
  const next = await openDialog();
  expect(within(next).getByRole<HTMLInputElement>("textbox", { name: "Title" }).value).toBe("");
});

it("forgets what is written when it is discarded", async () => {
  const { dialog } = await begin();
  await userEvent.click(within(dialog).getByRole("button", { name: "Discard draft" }));
  await gone();
  const next = await openDialog();
  expect(within(next).getByRole<HTMLInputElement>("textbox", { name: "Title" }).value).toBe("");
  expect(within(next).queryByRole("button", { name: "Discard draft" })).toBeNull();
});
