import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";

type Theme = "light" | "dark";
type Oklch = readonly [lightness: number, chroma: number, hue: number];

const sheet = (name: string) => readFileSync(resolve(import.meta.dirname, name), "utf8");

/** Reads `--name: light-dark(oklch(L C H), oklch(L C H));` lines; others carry no text. */
function readPairs(source: string): Map<string, Record<Theme, Oklch>> {
  const number = String.raw`([\d.]+)`;
  const colour = String.raw`oklch\(${number} ${number} ${number}\)`;
  const line = new RegExp(String.raw`--([\w-]+):\s*light-dark\(${colour},\s*${colour}\)`, "g");
  const pairs = new Map<string, Record<Theme, Oklch>>();
  for (const [, name, ...parts] of source.matchAll(line)) {
    const [a, b, c, d, e, f] = parts.map(Number) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    pairs.set(name as string, { light: [a, b, c], dark: [d, e, f] });
  }
  return pairs;
}

/** Relative luminance of an oklch colour, gamut-clipped per channel as browsers paint it. */
function luminance([lightness, chroma, hue]: Oklch): number {
  const radians = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(radians);
  const b = chroma * Math.sin(radians);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const clip = (value: number) => Math.min(1, Math.max(0, value));
  const red = clip(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
  const green = clip(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
  const blue = clip(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: Oklch, other: Oklch): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((x, y) => x - y) as [
    number,
    number,
  ];
  return (light + 0.05) / (dark + 0.05);
}

const usual = readPairs(sheet("tokens.css"));
/** What high contrast leaves as it is comes of the tokens that are always there. */
const contrasting = new Map([...usual, ...readPairs(sheet("contrast.css"))]);
const surfaces = ["sunken", "base", "raised", "overlay", "hover", "active", "code"].map(
  (name) => `surface-${name}`,
);
const tones = ["accent", "neutral", "success", "warning", "danger", "review"];
const plain = [
  "surface-sunken",
  "surface-base",
  "surface-raised",
  "surface-overlay",
  "surface-code",
];

const onSurface: [string, string][] = [
  ...["text-1", "text-2", "text-3"].flatMap((text) =>
    surfaces.map((surface): [string, string] => [text, surface]),
  ),
  ...tones.flatMap((tone) =>
    [...plain, "surface-hover", `${tone}-bg`].map((surface): [string, string] => [
      `${tone}-text`,
      surface,
    ]),
  ),
  ...tones.map((tone): [string, string] => ["text-1", `${tone}-bg`]),
  ...tones.map((tone): [string, string] => ["text-2", `${tone}-bg`]),
  ...["accent", "danger"].flatMap((tone): [string, string][] => [
    ["text-on-solid", `${tone}-solid`],
    ["text-on-solid", `${tone}-solid-hover`],
  ]),
  ["diff-add-text", "diff-add-bg"],
  ["diff-del-text", "diff-del-bg"],
  ["text-1", "diff-add-bg"],
  ["text-1", "diff-del-bg"],
  ...Array.from({ length: 16 }, (_, index): [string, string] => [`ansi-${index}`, "surface-code"]),
];

describe.each([
  { name: "light", theme: "light", pairs: usual, text: 4.5, shape: 3 },
  { name: "dark", theme: "dark", pairs: usual, text: 4.5, shape: 3 },
  { name: "high contrast light", theme: "light", pairs: contrasting, text: 7, shape: 4.5 },
  { name: "high contrast dark", theme: "dark", pairs: contrasting, text: 7, shape: 4.5 },
] as const)("contrast in the $name theme", ({ theme, pairs, text: least, shape: leastShape }) => {
  const at = (name: string): Oklch => {
    const pair = pairs.get(name);
    if (!pair) throw new Error(`tokens.css declares no --${name}`);
    return pair[theme];
  };

  it(`reads at ${least}:1 wherever text meets a surface`, () => {
    const failing = onSurface
      .map(([text, surface]) => ({ text, surface, ratio: contrast(at(text), at(surface)) }))
      .filter(({ ratio }) => ratio < least)
      .map(({ text, surface, ratio }) => `${text} on ${surface}: ${ratio.toFixed(2)}`);
    expect(failing).toEqual([]);
  });

  it(`draws focus and status shapes at ${leastShape}:1`, () => {
    const shapes = ["focus", ...tones.map((tone) => `${tone}-solid`)];
    const failing = shapes.flatMap((shape) =>
      plain
        .map((surface) => ({ surface, ratio: contrast(at(shape), at(surface)) }))
        .filter(({ ratio }) => ratio < leastShape)
        .map(({ surface, ratio }) => `${shape} on ${surface}: ${ratio.toFixed(2)}`),
    );
    expect(failing).toEqual([]);
  });
});

it("measures known colours correctly", () => {
  expect(contrast([1, 0, 0], [0, 0, 0])).toBeCloseTo(21, 1);
  expect(contrast([0.5999, 0, 0], [1, 0, 0])).toBeCloseTo(3.94, 1);
});

it("measures every colour again that high contrast needs", () => {
  const again = readPairs(sheet("contrast.css"));
  const texts = [...usual.keys()].filter((name) => /-?text|surface|solid|ansi|focus/.test(name));
  expect(texts.filter((name) => !again.has(name))).toEqual([]);
});

it("is told of themes and densities in these sheets alone", () => {
  const ui = resolve(import.meta.dirname, "..");
  const sheets = readdirSync(ui, { encoding: "utf8", recursive: true }).filter((path) =>
    path.endsWith(".module.css"),
  );
  expect(sheets.length).toBeGreaterThan(50);
  const asking = /data-(theme|contrast|density|text)\b|prefers-(color-scheme|contrast)/;
  const knowing = sheets.filter((path) => asking.test(readFileSync(resolve(ui, path), "utf8")));
  expect(knowing).toEqual([]);
});
