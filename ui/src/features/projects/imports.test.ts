import { expect, it } from "vitest";
import type { ImportOffer } from "#ui/api/generated.ts";
import { newIn, patchOf } from "./imports.ts";

const offer: ImportOffer = {
  source: ".cursor/worktrees.json",
  copy_files: [
    { pattern: ".env", mode: "copy" },
    { pattern: "config/local.toml", mode: "copy" },
  ],
  setup: ["npm ci", "npm run build"],
  notes: [],
  error: null,
};

it("takes over what is new and keeps what is there", () => {
  const settings = { copy_files: [{ pattern: ".env" }], setup: ["npm ci"] };
  expect(newIn(offer, settings)).toEqual({
    copy_files: [{ pattern: "config/local.toml", mode: "copy" }],
    setup: ["npm run build"],
  });
  expect(patchOf(offer, settings)).toEqual({
    copy_files: [{ pattern: ".env" }, { pattern: "config/local.toml", mode: "copy" }],
    setup: ["npm ci", "npm run build"],
  });
});

it("changes nothing where nothing is new", () => {
  expect(patchOf(offer, { copy_files: offer.copy_files, setup: offer.setup })).toEqual({});
});
