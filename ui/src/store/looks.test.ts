import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { rowHeight } from "#ui/components/rows.ts";
import { applyLooks, followLooks, rowsOf, type Looks } from "./looks.ts";
import { densities, preferences, setPreference, textSizes, themes } from "./preferences.ts";

const ui = resolve(import.meta.dirname, "../..");
const early = readFileSync(resolve(ui, "public/looks.js"), "utf8");

/** The desktop asks for more contrast, or not; answers with how to change that. */
function desktop(more: boolean): (next: boolean) => void {
  const asked = Object.assign(new EventTarget(), { matches: more });
  vi.stubGlobal("matchMedia", (query: string) =>
    query.includes("contrast") ? asked : { matches: false },
  );
  return (next) => {
    asked.matches = next;
    asked.dispatchEvent(new Event("change"));
  };
}

const everyLook: Looks[] = themes.flatMap((theme) =>
  densities.flatMap((density) => textSizes.map((textSize) => ({ theme, density, textSize }))),
);

const root = document.documentElement;
const attributes = () => ({ ...root.dataset });
const clear = () => {
  for (const name of Object.keys(root.dataset)) delete root.dataset[name];
};
beforeEach(clear);

it.each<[Partial<Looks>, boolean, Record<string, string>]>([
  [{}, false, {}],
  [{}, true, { contrast: "more" }],
  [{ theme: "light" }, true, { theme: "light" }],
  [{ theme: "dark" }, false, { theme: "dark" }],
  [{ theme: "contrast" }, false, { contrast: "more" }],
  [{ density: "comfortable", textSize: 125 }, false, { density: "comfortable", text: "125" }],
])("draws %j where the desktop asks for contrast: %s", (looks, more, expected) => {
  desktop(more);
  applyLooks(root, { theme: "system", density: "compact", textSize: 100, ...looks });
  expect(attributes()).toEqual(expected);
});

describe.each([false, true])("before the first paint, contrast asked for: %s", (more) => {
  it.each(everyLook)("draws $theme, $density, $textSize as afterwards", (looks) => {
    desktop(more);
    applyLooks(root, looks);
    const afterwards = attributes();
    clear();
    for (const name of ["theme", "density", "textSize"] as const) setPreference(name, looks[name]);
    // oxlint-disable-next-line no-implied-eval
    new Function(early)();
    expect(attributes()).toEqual(afterwards);
  });
});

it.each([null, "", "{}", "null", '{"state":{}}'])("draws the usual of kept %j", (kept) => {
  desktop(false);
  if (kept !== null) localStorage.setItem("forge.preferences", kept);
  // oxlint-disable-next-line no-implied-eval
  new Function(early)();
  expect(attributes()).toEqual({});
});

it("is set before anything else of the page runs", () => {
  const page = new DOMParser().parseFromString(
    readFileSync(resolve(ui, "index.html"), "utf8"),
    "text/html",
  );
  const [first] = page.querySelectorAll("script");
  expect(first?.getAttribute("src")).toBe("/looks.js");
  // A module or a deferred script runs when the page may have been painted.
  expect(first?.getAttributeNames()).toEqual(["src"]);
  expect(first?.parentElement).toBe(page.head);
});

it("follows the preferences and the desktop until it is told to stop", () => {
  const ask = desktop(false);
  const stop = followLooks(root);
  setPreference("textSize", 90);
  expect(attributes()).toEqual({ text: "90" });
  ask(true);
  expect(attributes()).toEqual({ text: "90", contrast: "more" });
  setPreference("theme", "dark");
  expect(attributes()).toEqual({ text: "90", theme: "dark" });
  stop();
  preferences.setState({ theme: "system", textSize: 100 });
  expect(attributes()).toEqual({ text: "90", theme: "dark" });
});

it("counts heights of rows as the tokens draw them", () => {
  const css = readFileSync(resolve(ui, "src/styles/tokens.css"), "utf8");
  for (const textSize of textSizes) {
    const block = css.match(new RegExp(`data-text="${textSize}"\\] \\{\\s*--scale: ([\\d.]+);`));
    const { scale } = rowsOf({ density: "compact", textSize });
    expect([textSize, Number(block?.[1] ?? 1)]).toEqual([textSize, scale]);
    // Of a row of code, whose lines a row may hold many of, nothing is rounded.
    expect(rowHeight({ scale, roomy: false }, 20)).toBe(20 * scale);
  }
  expect(rowHeight({ scale: 0.9, roomy: true }, 26, 4)).toBe(27);
  expect(css).toContain("--row-code: calc(20px * var(--scale));");
});
