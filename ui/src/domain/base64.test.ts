import { expect, it } from "vitest";
import { base64Of, bytesOf } from "./base64.ts";

it("bytes become base64 and bytes again, however many they are", () => {
  const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256);
  expect(bytesOf(base64Of(bytes))).toEqual(bytes);
  expect(base64Of(new Uint8Array())).toBe("");
});
