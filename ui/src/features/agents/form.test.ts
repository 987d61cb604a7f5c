import { describe, expect, it } from "vitest";
import type { AdapterKind } from "#ui/api/generated.ts";
import { sampleAgent } from "#ui/test/sample.ts";
import { sampleKnown } from "#ui/test/sampleRuns.ts";
import {
  commandLine,
  configOf,
  createInput,
  dollars,
  emptyForm,
  formOf,
  isComplete,
  startForm,
  updateInput,
  wrongEnvLine,
} from "./form.ts";
import { freeName, profileFor } from "#ui/domain/programs/profile.ts";

it.each<[AdapterKind, object]>([
  ["shell", { command: "codex exec - < {prompt_file}" }],
  ["shell", { command: "claude", args: ["-p", "two words"], env: { CI: "1", URL: "a=b" } }],
  ["shell", { command: "x", environment: { pass: ["NPM_TOKEN", "DB_PASSWORD"] } }],
  ["shell", { command: "x", prompt_prefix: "Be brief.\n", wall_clock_seconds: 900 }],
  ["shell", { command: "x", sandbox: "off" }],
  ["codex", { sandbox: "files" }],
  ["codex", { machines: ["gpu", "big"] }],
  ["shell", { command: "x", machines: [] }],
  ["acp", { program: "opencode", sandbox: "files_and_network" }],
  ["codex", {}],
  [
    "claude",
    { program: "/opt/claude", args: ["--verbose"], permissions: "ask", effort: "high", turns: 40 },
  ],
  ["acp", { program: "opencode", args: ["acp"], silence_seconds: 60, cost_micro_usd: 2_500_000 }],
])("keeps a %s profile's %j through the form", (adapter, config) => {
  expect(configOf(formOf(sampleAgent({ adapter, config })))).toEqual(config);
});

it("leaves to one adapter what is the other's", () => {
  const form = {
    ...emptyForm,
    command: "x",
    program: "y",
    turns: "3",
    permissions: "ask",
  } as const;
  expect(configOf({ ...form, adapter: "shell" })).toEqual({ command: "x" });
  expect(configOf({ ...form, adapter: "acp" })).toEqual({
    program: "y",
    turns: 3,
    permissions: "ask",
  });
});

it("makes a profile, and takes the model of another away", () => {
  const form = { ...emptyForm, name: " Codex ", model: " gpt ", maxConcurrent: "2" };
  expect(createInput(form)).toEqual({
    name: "Codex",
    adapter: "codex",
    config: {},
    model: "gpt",
    max_concurrent: 2,
  });
  expect(updateInput(sampleAgent({ adapter: "codex" }), { ...form, model: "" })).toMatchObject({
    agent_id: "a1",
    model: null,
  });
});

describe("a complete form", () => {
  it.each([
    [{ name: "" }, false],
    [{ name: "a", adapter: "codex" }, true],
    [{ name: "a", adapter: "acp" }, false],
    [{ name: "a", adapter: "acp", program: "opencode" }, true],
    [{ name: "a", adapter: "shell" }, false],
    [{ name: "a", adapter: "shell", command: "x" }, true],
  ] as const)("%j: %s", (change, complete) => {
    expect(isComplete({ ...emptyForm, ...change })).toBe(complete);
  });
});

it("names a profile of a found program as nobody else is named", () => {
  expect(freeName("Codex", ["codex", "Codex 2"])).toBe("Codex 3");
  expect(profileFor(sampleKnown(), [])).toEqual({
    name: "Codex",
    adapter: "codex",
    config: {},
    max_concurrent: 1,
  });
});

it("says how a program is started", () => {
  expect(commandLine(sampleAgent({ adapter: "codex", config: {} }))).toBe("codex");
  expect(
    commandLine(sampleAgent({ adapter: "acp", config: { program: "opencode", args: ["acp"] } })),
  ).toBe("opencode acp");
});

it.each([
  ["1,5", "1.5"],
  ["$2.50x", "2.50"],
  ["1.2.3", "1.2"],
])("reads %s as %s dollars", (typed, read) => {
  expect(dollars(typed)).toBe(read);
});

it.each<[string, string | null]>([
  ["", null],
  ["A=1\n\nB_2=x=y", null],
  ["A=1\nnot this", "not this"],
  ["=1", "=1"],
])("finds in the environment %j what is wrong: %j", (text, wrong) => {
  expect(wrongEnvLine(text)).toBe(wrong);
});

describe("the form of a new agent", () => {
  const missing = { ...sampleKnown().check, found: false };
  const acp = sampleKnown({
    name: "OpenCode",
    adapter: "acp",
    config: { program: "opencode", args: ["acp"] },
  });

  it("is for a program that is installed, signed in and not used yet", () => {
    const { check } = sampleKnown();
    const out = { ...check, signed_in: false };
    expect(startForm([sampleKnown({ check: missing }), acp]).adapter).toBe("acp");
    expect(startForm([sampleKnown({ check: out }), acp]).adapter).toBe("acp");
    expect(startForm([sampleKnown({ profiles: ["Codex"] }), acp])).toMatchObject({
      adapter: "acp",
      program: "opencode",
      args: "acp",
    });
    expect(startForm([sampleKnown(), acp])).toMatchObject({ adapter: "codex", program: "" });
  });

  it("is an empty one where no program is installed", () => {
    expect(startForm([sampleKnown({ check: missing })])).toEqual(emptyForm);
  });
});
