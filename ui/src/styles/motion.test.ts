import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";

const ui = resolve(import.meta.dirname, "..");
const filesOf = (ending: RegExp) =>
  readdirSync(ui, { encoding: "utf8", recursive: true })
    .filter((path) => ending.test(path) && !/\.test\.tsx?$/.test(path))
    .map((path) => ({ path, source: readFileSync(resolve(ui, path), "utf8") }));

const reduced = /@media \(prefers-reduced-motion: reduce\) \{([\s\S]*?\n)\}/g;
const blocks = (name: string) =>
  [...readFileSync(resolve(import.meta.dirname, name), "utf8").matchAll(reduced)]
    .map(([, block]) => block ?? "")
    .join("\n");

it("stops every animation, transition and smooth scroll where less motion is asked for", () => {
  const base = blocks("base.css");
  for (const selector of ["*,", "*::before,", "*::after"]) expect(base).toContain(selector);
  for (const rule of [
    "animation-duration: 0.01ms !important",
    "animation-iteration-count: 1 !important",
    "transition-duration: 0.01ms !important",
    "scroll-behavior: auto !important",
  ]) {
    expect(base).toContain(rule);
  }
  const tokens = readFileSync(resolve(import.meta.dirname, "tokens.css"), "utf8");
  const durations = new Set([...tokens.matchAll(/--duration[\w-]*(?=:)/g)].map(([name]) => name));
  for (const name of durations) expect(blocks("tokens.css")).toContain(`${name}: 0ms`);
});

it("has no motion that the style sheets could not stop", () => {
  const insisting = filesOf(/\.css$/)
    .filter(({ path }) => !path.endsWith("base.css"))
    .filter(({ source }) => /(animation|transition)[^;]*!important/.test(source));
  expect(insisting.map(({ path }) => path)).toEqual([]);
  const scripted = filesOf(/\.tsx?$/).filter(({ source }) =>
    /behavior: "smooth"|\.animate\(|startViewTransition/.test(source),
  );
  expect(scripted.map(({ path }) => path)).toEqual([]);
});
