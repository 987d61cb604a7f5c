import { expect, it } from "vitest";
import { contentOf, fits, maxFileBytes, nameOf } from "./files.ts";

it("names what has no name by its kind", () => {
  expect(nameOf({ name: "a.txt", type: "text/plain" })).toBe("a.txt");
  expect(nameOf({ name: "", type: "image/png" })).toBe("pasted.png");
  expect(nameOf({ name: "", type: "" })).toBe("pasted");
  expect(nameOf({ name: "", type: "application/x-../etc" })).toBe("pasted");
});

it("tells what is too large to send", () => {
  expect(fits({ size: maxFileBytes })).toBe(true);
  expect(fits({ size: maxFileBytes + 1 })).toBe(false);
});

it("reads content as base64", async () => {
  expect(await contentOf(new Blob(["it broke\n"], { type: "text/plain" }))).toBe("aXQgYnJva2UK");
});
