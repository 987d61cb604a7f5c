import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import "#ui/app/TaskPage.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import "#ui/features/attention/AttentionScreen.tsx";
import "#ui/features/task/TaskPanel.tsx";
import { inputsOf, openApp } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";

it("marks what was said about a task as read once the task is opened", async () => {
  const host = createSampleHost(null, 20);
  openApp(host, "#/task/p1/2");
  await waitFor(() => expect(inputsOf(host, "notification_read")).toEqual([{ ids: ["n1"] }]));
});

it("marks nothing of other tasks as read", async () => {
  const host = createSampleHost(null, 20);
  openApp(host, "#/task/p1/3");
  await screen.findByRole("article");
  expect(inputsOf(host, "notification_read")).toEqual([]);
});

it("marks what was said about a task as read once it is dealt with from the list", async () => {
  const host = createSampleHost(null, 20);
  openApp(host, "#/attention");
  await userEvent.click(await screen.findByRole("button", { name: "Approve" }));
  await waitFor(() => expect(inputsOf(host, "notification_read")).toEqual([{ ids: ["n2"] }]));
});
