import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { inputsOf, openApp } from "#ui/test/renderApp.tsx";
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
  const call = host.call.bind(host);
  vi.spyOn(host, "call").mockImplementation((op, input) => {
    if (op !== "task_create") return call(op, input);
    const findings = [{ path: "roles.reviewer", message: "cannot review" }];
    // The shape of the contract's error, as a host rejects with it.
    throw {
      code: "invalid",
      message: "failed to create the task",
      hints: [],
      details: { findings },
    };
  });
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
