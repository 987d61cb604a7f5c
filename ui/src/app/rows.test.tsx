import { act, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "#ui/features/board/BoardScreen.tsx";
import { preferences, setPreference } from "#ui/store/preferences.ts";
import { openApp } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";

const before = preferences.getState();
afterEach(() => act(() => preferences.setState(before)));

it("the app tells its lists how high rows are drawn", async () => {
  openApp(createSampleHost(null, 20), "#/board/p1");
  const card = await screen.findByRole("button", { name: /^#1 / });
  const height = () =>
    Number.parseFloat(card.closest<HTMLElement>("[data-index]")?.style.height ?? "");
  const usual = height();
  expect(usual).toBeGreaterThan(0);
  act(() => setPreference("textSize", 125));
  expect(height()).toBe(Math.round(usual * 1.25));
});
