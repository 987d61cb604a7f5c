import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import "./ProjectSettingsScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.

it("lists all settings of a project at its side, in groups, and walks them with arrows", async () => {
  const { container } = openApp(createSampleHost(null, 12), "#/settings/project/p1");
  const list = await screen.findByRole("tablist", { name: "Project settings" });
  expect(list.getAttribute("aria-orientation")).toBe("vertical");
  expect(within(list).getAllByRole("tab")).toHaveLength(14);
  for (const group of ["Project", "Process", "Review and merge"]) within(list).getByText(group);
  await userEvent.click(within(list).getByRole("tab", { name: "Checks" }));
  expect(location.hash).toBe("#/settings/project/p1?tab=checks");
  await userEvent.keyboard("{ArrowDown}");
  expect(location.hash).toBe("#/settings/project/p1?tab=merge");
  expect(await violationsIn(container)).toEqual([]);
});
