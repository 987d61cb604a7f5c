import { act, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { createQueryClient } from "#ui/api/operations.tsx";
import { preferences } from "#ui/store/preferences.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { violationsIn } from "#ui/test/violations.ts";
import { App } from "./App.tsx";
import { navigate } from "./router.ts";
// Loaded before the tests: as chunks they may take longer than a test has.
import "#ui/features/agents/AgentsScreen.tsx";
import "#ui/features/board/BoardScreen.tsx";
import "#ui/features/gallery/GalleryScreen.tsx";
import "#ui/features/settings/SettingsScreen.tsx";

beforeEach(() => {
  preferences.setState({ theme: "system", sidebarCollapsed: false });
  location.hash = "#/";
});

async function open(hash: string, heading: string) {
  location.hash = hash;
  const platform = createSampleHost(null, 12);
  const view = render(<App platform={platform} queryClient={createQueryClient()} />);
  await screen.findByRole("heading", { level: 1, name: heading });
  return { platform, ...view };
}

it("tells the host that it is ready once something is painted", async () => {
  const { platform } = await open("#/attention", "Attention");
  await vi.waitFor(() => expect(platform.isReady()).toBe(true));
});

it("marks where one is, and goes elsewhere by link and by keys", async () => {
  await open("#/board/p2", "Parser");
  const nav = screen.getByRole("navigation");
  expect(within(nav).getByRole("link", { current: "page" }).textContent).toContain("Board");
  expect(within(nav).getByRole("button", { name: "Project: Parser" })).toBeTruthy();

  await userEvent.keyboard("ga");
  await screen.findByRole("heading", { level: 1, name: "Attention" });
  await userEvent.keyboard("gb");
  await screen.findByRole("heading", { level: 1, name: "Parser" });
  expect(location.hash).toBe("#/board/p2");
});

it("finds and runs commands in the palette", async () => {
  await open("#/agents", "Agents");
  await userEvent.keyboard("{Control>}k{/Control}");
  await userEvent.type(await screen.findByRole("combobox"), "theme dark");
  expect(screen.getAllByRole("option")).toHaveLength(1);
  await userEvent.keyboard("{Enter}");
  expect(document.documentElement.dataset["theme"]).toBe("dark");
  await vi.waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

it("lists every bound key, and closes the list with one Escape", async () => {
  await open("#/agents", "Agents");
  await userEvent.keyboard("?");
  const dialog = await screen.findByRole("dialog", { name: "Keyboard shortcuts" });
  expect(within(dialog).getByText("Go to Settings")).toBeTruthy();
  // A key that two commands had would reach one of them alone.
  const lines = within(dialog).getAllByRole("listitem");
  const keys = lines.map((line) =>
    [...line.querySelectorAll("kbd")].map((key) => key.textContent).join(" "),
  );
  expect(keys.toSorted()).toEqual([...new Set(keys)].toSorted());
  await userEvent.keyboard("{Escape}");
  await vi.waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

it("opens the task that the host names", async () => {
  const { platform } = await open("#/agents", "Agents");
  act(() => platform.openTask({ project_id: "p2", number: 7 }));
  expect(location.hash).toBe("#/task/p2/7");
  act(() => platform.openTask({ project_id: "p2", number: 7, about: "race_decided" }));
  expect(location.hash).toBe("#/task/p2/7?tab=race");
});

it("leaves the room to what is read where the window is very small", async () => {
  const real = matchMedia;
  vi.stubGlobal("matchMedia", (query: string) => ({
    ...real(query),
    matches: query === "(max-width: 640px)",
    addEventListener() {},
    removeEventListener() {},
  }));
  await open("#/agents", "Agents");
  const nav = screen.getByRole("navigation");
  expect(nav.dataset["collapsed"]).toBe("true");
  expect(within(nav).getByRole("link", { name: /^Attention/ })).toBeTruthy();
  expect(within(nav).queryByRole("button", { name: /sidebar/i })).toBeNull();
});

it("shows nobody the gallery who did not ask for its address", async () => {
  await open("#/settings", "Settings");
  expect(screen.queryByText(/gallery/i)).toBeNull();
});

it("says when an address leads nowhere", async () => {
  await open("#/agents", "Agents");
  act(() => {
    location.hash = "#/nowhere";
  });
  expect(await screen.findByText("No page at this address")).toBeTruthy();
  act(() => navigate("agents"));
  await screen.findByRole("heading", { level: 1, name: "Agents" });
});

it.each<[string, string]>([
  ["#/settings", "Settings"],
  ["#/gallery", "Component gallery"],
])("has no accessibility violation on %s", async (hash, heading) => {
  const { container } = await open(hash, heading);
  // Twin themes repeat landmarks' names.
  expect(await violationsIn(container, "landmark-unique")).toEqual([]);
});
