import { afterEach, beforeEach, expect, it } from "vitest";
import { t } from "#ui/i18n/index.ts";
import en from "#ui/i18n/en.json";
import { pseudo, speakPseudo } from "./pseudo.ts";

let back: () => Promise<unknown>;
beforeEach(async () => {
  back = await speakPseudo();
});
afterEach(() => back());

it.each([
  ["Save", "⟦Šávé xx⟧"],
  ["Go to {{place}}", "⟦Gö tö {{place}} xxx⟧"],
  ["See `openapi.json`", "⟦Šéé `openapi.json` xx⟧"],
  ["{{count}}", "⟦{{count}}⟧"],
])("writes %j as %j", (text, expected) => expect(pseudo(text)).toBe(expected));

const texts = (part: object): string[] =>
  Object.values(part).flatMap((value: string | object) =>
    typeof value === "string" ? [value] : texts(value),
  );

it("makes every text longer by 40 %, and keeps what is put in", () => {
  const all = texts(en);
  expect(all.length).toBeGreaterThan(2_000);
  const put = (text: string) => text.match(/\{\{.*?\}\}|\$t\(.*?\)|`[^`]*`/g) ?? [];
  for (const text of all) {
    const long = pseudo(text);
    expect(put(long)).toEqual(put(text));
    const letters = put(text).reduce((length, part) => length - part.length, text.length);
    expect(long.length - text.length).toBeGreaterThanOrEqual(Math.floor(letters * 0.4) - 1);
  }
});

it("is what the page says, plurals included", async () => {
  expect(t("attention.count", { count: 1 })).toBe("⟦1 tášk ñéédš ýöü xxxx x⟧");
  expect(t("attention.count", { count: 2 })).toBe("⟦2 táškš ñééd ýöü xxxx x⟧");
  await back();
  expect(t("attention.count", { count: 2 })).toBe("2 tasks need you");
});
