import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { inputsOf, openApp } from "#ui/test/renderApp.tsx";
import { refuseInput } from "#ui/test/answers.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";

it("gives the review of a new task to an agent", async () => {
  const host = createSampleHost(null, 20);
  openApp(host, "#/attention");
  await screen.findByRole("heading", { level: 1, name: "Attention" });
  await userEvent.keyboard("c");
  const dialog = await screen.findByRole("dialog", { name: "New task" });
  await userEvent.type(within(dialog).getByRole("textbox", { name: "Title" }), "Say hello");
  await userEvent.click(await within(dialog).findByRole("combobox", { name: "Reviewer" }));
  await userEvent.click(await screen.findByRole("option", { name: /^Claude/ }));
  await userEvent.click(within(dialog).getByRole("button", { name: /^Create(?! and)/ }));
  await waitFor(() =>
    expect(inputsOf(host, "task_create")).toEqual([
      { project_id: "p1", title: "Say hello", roles: { reviewer: "a2" } },
    ]),
  );
});

it("says at the role why its holder cannot have it", async () => {
  const host = createSampleHost(null, 20);
  host.answer("task_create", () =>
    refuseInput("failed to create the task", "roles.reviewer", "cannot review"),
  );
  openApp(host, "#/attention");
  await screen.findByRole("heading", { level: 1, name: "Attention" });
  await userEvent.keyboard("c");
  const dialog = await screen.findByRole("dialog", { name: "New task" });
  await userEvent.type(within(dialog).getByRole("textbox", { name: "Title" }), "Say hello");
  await userEvent.click(within(dialog).getByRole("button", { name: /^Create(?! and)/ }));
  expect(await within(dialog).findByText("cannot review")).toBeTruthy();
  const field = within(dialog).getByRole("combobox", { name: "Reviewer" });
  expect(field.getAttribute("aria-invalid")).toBe("true");
  expect(
    within(dialog).getByRole("combobox", { name: "Agent" }).getAttribute("aria-invalid"),
  ).toBeNull();
});
