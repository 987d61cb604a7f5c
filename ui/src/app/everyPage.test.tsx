/** What holds on every page: its words come from the catalogue, and axe finds nothing in it. */
import { act, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it } from "vitest";
import { showOverlay, type Overlay } from "#ui/store/overlays.ts";
import { speakPseudo } from "#ui/test/pseudo.ts";
import { openApp } from "#ui/test/renderApp.tsx";
import { createSampleHost, type SampleHost } from "#ui/test/sampleHost.ts";
import { violationsIn } from "#ui/test/violations.ts";
import { pageScenes } from "#ui/test/scenes.ts";
import { screens } from "./screens.tsx";
// Loaded before the tests: as chunks they may take longer than a test has.
import "#ui/features/agents/AgentsScreen.tsx";
import "#ui/features/attention/AttentionScreen.tsx";
import "#ui/features/board/BoardScreen.tsx";
import "#ui/features/costs/CostsScreen.tsx";
import "#ui/features/innerLoop/InnerLoopScreen.tsx";
import "#ui/features/machines/MachinesScreen.tsx";
import "#ui/features/projects/ProjectSettingsScreen.tsx";
import "#ui/features/runs/RunsScreen.tsx";
import "#ui/features/settings/SettingsScreen.tsx";
import "#ui/features/task/diff/DiffTab.tsx";
import "#ui/features/workflow/WorkflowEditor.tsx";
import "#ui/features/workspaces/WorkspacesScreen.tsx";
import "./TaskPage.tsx";

let back: () => Promise<unknown>;
beforeEach(async () => {
  back = await speakPseudo();
});
afterEach(() => back());

/** Every string that the host has answered: what a page may say in words that are not its own. */
function listenTo(host: SampleHost): () => string {
  const heard = new Set<string>();
  const take = (value: unknown): void => {
    if (typeof value === "string") heard.add(value);
    else if (Array.isArray(value)) value.forEach(take);
    else if (value && typeof value === "object") {
      for (const [key, inner] of Object.entries(value)) {
        heard.add(key);
        take(inner);
      }
    }
  };
  const { call } = host;
  host.call = async (op, input) => {
    try {
      const answer = await call(op, input);
      take(answer);
      return answer;
    } catch (error) {
      take(error);
      throw error;
    }
  };
  return () => [...heard].join("\n").replaceAll(/\s+/g, " ").toLowerCase();
}

/** Code, keys and what a person has typed are in no language; the chart and the editor draw for themselves. */
const wordless =
  "code, pre, kbd, samp, textarea, script, style, .cm-editor, [aria-hidden='true'] > svg";
/** What `Intl` and the names of units put between numbers. */
const units =
  /\b(ago|in|yesterday|tomorrow|now|jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|am|pm|at|h|m|s|d|w|mo|y|min|hr|sec|ms|kb|mb|gb|tb|byte|bytes|k|usd)\b/g;

function foreign(said: string, heard: string): boolean {
  if (said.includes("⟦") || said.includes("⟧")) return false;
  const text = said.replaceAll(/\s+/g, " ").trim().toLowerCase();
  if (heard.includes(text)) return false;
  const rest = text.replaceAll(/[\d\p{P}\p{S}]+/gu, " ").replaceAll(units, " ");
  return rest
    .split(" ")
    .filter((word) => /\p{L}{2}/u.test(word))
    .some((word) => !heard.includes(word));
}

function foreignWords(heard: string): string[] {
  const found: string[] = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const { parentElement: parent, textContent: text } = node;
    if (!text || !parent || parent.closest(wordless)) continue;
    if (foreign(text, heard)) found.push(`${parent.className}: ${text}`);
  }
  for (const name of ["aria-label", "title", "placeholder", "alt", "aria-valuetext"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      const text = element.getAttribute(name) ?? "";
      if (!element.closest(wordless) && foreign(text, heard)) found.push(`${name}: ${text}`);
    }
  }
  return found;
}

const idle = () =>
  waitFor(() => {
    screen.getByRole("main");
    expect(document.querySelector("[aria-busy='true']")).toBeNull();
  });

it.each(pageScenes.map((scene) => [scene.name, scene] as const))(
  "%s: words of the catalogue, nothing that axe finds",
  async (_, scene) => {
    const host = createSampleHost(scene.sample, 30);
    const heard = listenTo(host);
    openApp(host, scene.hash);
    await idle();
    expect(foreignWords(heard())).toEqual([]);
    expect(await violationsIn(document.body)).toEqual([]);
  },
);

it.each<Overlay>([
  "palette",
  "shortcuts",
  "newTask",
  "importIssues",
  "addProject",
  "connect",
  "notifications",
])("%s: words of the catalogue, nothing that axe finds", async (overlay) => {
  const host = createSampleHost(null, 30);
  const heard = listenTo(host);
  openApp(host, "#/agents");
  await idle();
  act(() => showOverlay(overlay));
  await screen.findByRole("dialog");
  await waitFor(() => expect(document.querySelector("[aria-busy='true']")).toBeNull());
  expect(foreignWords(heard())).toEqual([]);
  expect(await violationsIn(document.body)).toEqual([]);
});

it("has a scene for every screen", () => {
  const shown = new Set(pageScenes.map(({ hash }) => hash.split("/")[1]?.split("?")[0]));
  const paths = { home: "", innerLoop: "inner-loop", projectSettings: "settings" };
  const missing = Object.keys(screens).filter(
    (name) => name !== "gallery" && !shown.has(paths[name as keyof typeof paths] ?? name),
  );
  expect(missing).toEqual([]);
});
