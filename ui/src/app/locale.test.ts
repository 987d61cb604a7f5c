import { expect, it } from "vitest";
import { installLocale, sanitiseLocales } from "./locale.ts";

it.each<[string[], string[]]>([
  [["C"], ["en-US"]],
  [["C.UTF-8"], ["en-US"]],
  [["POSIX"], ["en-US"]],
  [["de_DE.UTF-8", "C"], ["de-DE"]],
  [["sr_RS@latin"], ["sr-RS"]],
  [
    ["en-GB", "fr"],
    ["en-GB", "fr"],
  ],
  [[], ["en-US"]],
])("mends %j to %j", (given, expected) => {
  expect(sanitiseLocales(given)).toEqual(expected);
});

it("leaves a navigator whose language Intl accepts", () => {
  const target = { language: "C", languages: ["C"] } as unknown as Navigator;
  installLocale(target);
  expect(() => new Intl.NumberFormat(target.language)).not.toThrow();
  expect(target.languages).toEqual(["en-US"]);
});
