import { expect, it } from "vitest";
import { ApiError } from "#ui/api/error.ts";
import { sampleOwn, sampleSettings } from "#ui/test/sampleSettings.ts";
import { troubleOf, wrongPathsIn } from "./settingsTrouble.ts";

const settingsWith = (change: object) => sampleSettings({ ...sampleOwn, ...change }).settings;
const host = { kind: "github", owner: "acme", repo: "", remote: "origin" };
const refused = (path: string, message: string) =>
  new ApiError({ code: "invalid", message: "failed", details: { findings: [{ path, message }] } });

it.each([
  ["half a code host", { code_host: host }, ["code_host.repo"], ["code_host"]],
  ["half a code host that is saved already", { code_host: host }, ["redact"], []],
  [
    "a rule without labels",
    { issues: { rule: { labels: [] } } },
    ["issues.rule.labels"],
    ["issues.rule"],
  ],
  ["a rule with a label", { issues: { rule: { labels: ["a"] } } }, ["issues.rule.labels"], []],
  [
    "a price without output",
    { model_prices: { local: { input: 1 } } },
    ["model_prices.local.input"],
    ["model_prices"],
  ],
  ["a line that is no port", { sandbox: { ports: ["x"] } }, ["sandbox.ports"], ["sandbox.ports"]],
  ["a port", { sandbox: { ports: [80] } }, ["sandbox.ports"], []],
])("finds %s among what is written", (_, change, changed, wrong) => {
  expect(wrongPathsIn(settingsWith(change), changed)).toEqual(wrong);
});

it("counts each wrong field once, with the page that it is on", () => {
  const trouble = troubleOf(["code_host"], {
    settings: refused("max_concurrent", "is too large"),
    project: refused("name", "is taken"),
  });
  expect(trouble).toEqual({
    fields: 3,
    pages: ["pullRequests", "automation", "general"],
    messages: [],
  });
});

it("says what no field can say", () => {
  const settings = refused("future", "is unknown");
  const project = new ApiError({ code: "internal", message: "the disk is full" });
  expect(troubleOf([], { settings, project })).toEqual({
    fields: 0,
    pages: [],
    messages: ["the disk is full", "future: is unknown"],
  });
});
