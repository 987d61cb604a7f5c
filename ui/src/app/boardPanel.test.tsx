import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeAll, expect, it, vi } from "vitest";
import { openApp } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import "#ui/features/board/BoardScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.

beforeAll(async () => {
  await import("#ui/features/task/TaskPanel.tsx");
}, 60_000);

const card = (number: number) => screen.findByRole("button", { name: new RegExp(`^#${number} `) });
const panel = (number: number) =>
  screen.findByRole("article", { name: new RegExp(`^Task ${number}: `) });
const column = (name: string) => screen.getByRole("region", { name: new RegExp(`^${name},`) });

async function openBoard() {
  const host = createSampleHost(null, 40);
  openApp(host, "#/board/p1");
  await card(1);
  return host;
}

it("closes the panel with Escape after the mouse opened it, and leads back to the card", async () => {
  await openBoard();
  await userEvent.click(await card(1));
  await panel(1);
  (document.activeElement as HTMLElement | null)?.blur();
  await userEvent.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("article")).toBeNull());
  expect(location.hash).toBe("#/board/p1");
  await waitFor(() => expect(document.activeElement?.getAttribute("data-task")).toBe("t1"));
});

it("closes what was opened last with each Escape", async () => {
  await openBoard();
  const user = userEvent.setup();
  await user.click(await card(1));
  await panel(1);
  await user.keyboard("{Control>}");
  await user.click(await card(6));
  await user.keyboard("{/Control}");
  expect(screen.getByRole("region", { name: "Selection" })).toBeTruthy();
  (document.activeElement as HTMLElement | null)?.blur();
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("region", { name: "Selection" })).toBeNull());
  expect(screen.getByRole("article")).toBeTruthy();
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("article")).toBeNull());
});

it("leaves a field of the panel with Escape before it closes the panel", async () => {
  await openBoard();
  await userEvent.click(await card(1));
  const search = await screen.findByRole("textbox", { name: "Filter tasks" });
  await panel(1);
  await userEvent.click(search);
  await userEvent.keyboard("{Escape}");
  expect(document.activeElement).toBe(document.body);
  expect(screen.getByRole("article")).toBeTruthy();
});

it("keeps the board as it is, and the open card in sight, when the panel comes", async () => {
  await openBoard();
  const found = await card(1);
  const into = vi.spyOn(Element.prototype, "scrollIntoView");
  await userEvent.click(found);
  await panel(1);
  expect(found.isConnected).toBe(true);
  expect(into.mock.contexts).toContain(column("Todo"));
});

it("folds any empty column by hand, for good", async () => {
  const host = createSampleHost(null, 40);
  for (const task of host.tasks) {
    if (task.status === "blocked") host.change(task.id, { status: "todo" });
  }
  const shown = openApp(host, "#/board/p1");
  await card(1);
  expect(screen.queryByRole("button", { name: "Collapse Todo" })).toBeNull();
  await userEvent.click(await screen.findByRole("button", { name: "Collapse Blocked" }));
  expect(within(column("Blocked")).queryByRole("heading")).toBeNull();
  shown.unmount();
  location.hash = "#/board/p1";
  openApp(host, "#/board/p1");
  expect(await screen.findByRole("button", { name: "Expand Blocked" })).toBeTruthy();
});
