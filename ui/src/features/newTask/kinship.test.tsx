import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { inputsOf, openApp } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";

it("makes a task a part of another one, which it works in turn with, after a third", async () => {
  const host = createSampleHost(null, 20);
  openApp(host, "#/attention");
  await screen.findByRole("heading", { level: 1, name: "Attention" });
  await userEvent.keyboard("c");
  const dialog = await screen.findByRole("dialog", { name: "New task" });
  await userEvent.type(within(dialog).getByRole("textbox", { name: "Title" }), "Say hello");
  await userEvent.type(within(dialog).getByRole("combobox", { name: "Depends on" }), "#3");
  await userEvent.click(await screen.findByRole("option", { name: /^#3 / }));
  await userEvent.type(within(dialog).getByRole("combobox", { name: "Parent task" }), "#2");
  await userEvent.click(await screen.findByRole("option", { name: /^#2 / }));
  await userEvent.click(
    await within(dialog).findByRole("radio", { name: "Shared worktree, in order" }),
  );
  const start = within(dialog).getByRole("button", { name: /^Create and start/ });
  expect(start.hasAttribute("disabled")).toBe(true);
  await userEvent.click(within(dialog).getByRole("button", { name: /^Create(?! and)/ }));
  await waitFor(() =>
    expect(inputsOf(host, "task_create")).toEqual([
      {
        project_id: "p1",
        title: "Say hello",
        depends_on: ["t3"],
        parent_id: "t2",
        execution_mode: "ordered_turn",
      },
    ]),
  );
});
