import { describe, expect, it } from "vitest";
import { sampleMachine } from "#ui/test/sampleMachines.ts";
import { sampleAgent, sampleWorkspace } from "#ui/test/sample.ts";
import {
  fitOf,
  knownLabels,
  labelsFrom,
  machineOf,
  machinesOf,
  momentText,
  placeOf,
} from "./machines.ts";

const gpu = (name: string, runs: number, cap: number | null, change = {}) =>
  sampleMachine({ id: name, name, labels: ["gpu"], runs, caps: { runs: cap }, ...change });

describe("the machine that fits", () => {
  const chosen = (required: string[], ...machines: ReturnType<typeof gpu>[]) => {
    const fit = fitOf(required, machines);
    if (fit.kind === "fits") return fit.machine.name;
    return fit.kind === "held"
      ? [fit.obstacle, ...fit.machines.map(({ name }) => name)].join(" ")
      : fit.kind;
  };
  it.each([
    ["this computer without labels", [], [gpu("a", 0, null)], "here"],
    ["the least load as a share of the cap", ["gpu"], [gpu("a", 1, 2), gpu("b", 1, 4)], "b"],
    ["runs where there is no cap", ["gpu"], [gpu("a", 2, null), gpu("b", 1, null)], "b"],
    ["the first name of equal loads", ["gpu"], [gpu("b", 1, 4), gpu("a", 1, 4)], "a"],
    ["one that its name asks for", ["b"], [gpu("a", 0, null), gpu("b", 3, null)], "b"],
    ["none for a label that none has", ["tpu"], [gpu("a", 0, null)], "none"],
    ["none that lacks one of the labels", ["gpu", "arm"], [gpu("a", 0, null)], "none"],
    ["a full one", ["gpu"], [gpu("a", 2, 2)], "full a"],
    [
      "a full one before one that is cut off",
      ["gpu"],
      [gpu("a", 0, 2, { contact: "unreachable" }), gpu("b", 2, 2)],
      "full b",
    ],
    [
      "one that is cut off before one that drains",
      ["gpu"],
      [gpu("a", 0, 2, { draining: true }), gpu("b", 0, 2, { contact: "unreachable" })],
      "unreachable b",
    ],
    [
      "all that drain",
      ["gpu"],
      [gpu("a", 0, 2, { draining: true }), gpu("b", 9, 2, { draining: true })],
      "draining a b",
    ],
    ["one that was never contacted", ["gpu"], [gpu("a", 0, 2, { contact: "unknown" })], "a"],
  ])("is %s", (_, required, machines, expected) => {
    expect(chosen(required, ...machines)).toBe(expected);
  });
});

describe("where a worktree is", () => {
  it("is its machine, this computer, or nowhere once it is gone", () => {
    const there = sampleWorkspace({ machine_id: "m1" });
    const here = sampleWorkspace({ machine_id: null });
    const gone = sampleWorkspace({ machine_id: "m1", status: "cleaned" });
    const all = [there, here, gone, null];
    expect(all.map(machineOf)).toEqual(["m1", null, null, null]);
    expect(all.map((workspace) => placeOf({ workspace }))).toEqual(["m1", "local", null, null]);
  });
});

describe("labels", () => {
  it("are read between commas and line ends, each once", () => {
    expect(labelsFrom(" gpu, big box\n\narm,,gpu ")).toEqual(["gpu", "big box", "arm"]);
  });

  it("are known from the machines, in order, with the machines' names", () => {
    const machines = [gpu("b", 0, null), sampleMachine({ name: "a", labels: ["gpu", "arm"] })];
    expect(knownLabels(machines)).toEqual({ labels: ["arm", "gpu"], names: ["a", "b"] });
  });

  it("of an agent are its own, this computer, or its project's", () => {
    const of = (config: object) => machinesOf(sampleAgent({ config }));
    expect([
      of({ machines: ["gpu"] }),
      of({ machines: [] }),
      of({}),
      machinesOf(undefined),
    ]).toEqual([["gpu"], [], null, null]);
  });
});

it("says a moment by its day and time", () => {
  const at = new Date(2030, 0, 15, 9, 30).toISOString();
  expect(momentText(at, "en-GB")).toMatch(/^15 Jan 2030.*09:30$/);
});
