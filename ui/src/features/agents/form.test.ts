import { expect, it } from "vitest";
import { sampleAgent } from "#ui/test/sample.ts";
import { configOf, createInput, emptyForm, formOf, wrongEnvLine } from "./form.ts";

it.each([
  { command: "codex exec - < {prompt_file}" },
  { command: "claude", args: ["-p", "two words"], env: { CI: "1", URL: "a=b" } },
  { command: "x", wall_clock_seconds: 900, silence_seconds: 60 },
])("keeps %j through the form", (config) => {
  expect(configOf(formOf(sampleAgent({ config })))).toEqual(config);
});

it("makes a profile of a line of shell", () => {
  const form = { ...emptyForm, name: " Codex ", command: "codex exec", maxConcurrent: "2" };
  expect(createInput(form)).toEqual({
    name: "Codex",
    adapter: "shell",
    config: { command: "codex exec" },
    max_concurrent: 2,
  });
});

it.each<[string, string | null]>([
  ["", null],
  ["A=1\n\nB_2=x=y", null],
  ["A=1\nnot this", "not this"],
  ["=1", "=1"],
])("finds in the environment %j what is wrong: %j", (text, wrong) => {
  expect(wrongEnvLine(text)).toBe(wrong);
});
