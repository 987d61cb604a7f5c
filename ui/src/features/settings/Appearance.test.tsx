import { act, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it } from "vitest";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { RowsContext } from "#ui/components/rows.ts";
import { VirtualList } from "#ui/components/VirtualList.tsx";
import { useRowLooks } from "#ui/store/looks.ts";
import { setPreference } from "#ui/store/preferences.ts";
import { giveHeight } from "#ui/test/renderApp.tsx";
import "./SettingsScreen.tsx";

const root = document.documentElement;
const kept = () =>
  (JSON.parse(localStorage.getItem("forge.preferences") ?? "{}") as { state: object }).state;

beforeEach(() => {
  for (const name of Object.keys(root.dataset)) delete root.dataset[name];
});

it.each([
  ["Theme", "High contrast", { contrast: "more" }, { theme: "contrast" }],
  ["Theme", "Dark", { theme: "dark" }, { theme: "dark" }],
  ["Density", "Comfortable", { density: "comfortable" }, { density: "comfortable" }],
  ["Text size", "125%", { text: "125" }, { textSize: 125 }],
])("applies %s: %s at once, and keeps it", async (group, choice, looks, state) => {
  openApp(createSampleHost(null, 12), "#/settings");
  const section = await screen.findByRole("region", { name: "Appearance" });
  const choices = within(section).getByRole("radiogroup", { name: group });
  await userEvent.click(within(choices).getByRole("radio", { name: choice }));
  expect({ ...root.dataset }).toEqual(looks);
  expect(kept()).toMatchObject(state);
  expect(await violationsIn(section)).toEqual([]);
});

it("makes rows of lists as high as their text", () => {
  giveHeight();
  function Lines() {
    return (
      <RowsContext value={useRowLooks()}>
        <VirtualList
          items={["one"]}
          keyOf={(item) => item}
          rowHeight={20}
          roomier={4}
          label="lines"
        >
          {(item) => item}
        </VirtualList>
      </RowsContext>
    );
  }
  render(<Lines />);
  const height = () => screen.getByRole("listitem").style.height;
  expect(height()).toBe("20px");
  act(() => setPreference("textSize", 125));
  expect(height()).toBe("25px");
  act(() => setPreference("density", "comfortable"));
  expect(height()).toBe("29px");
});
