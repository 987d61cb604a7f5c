import { describe, expect, it } from "vitest";
import { ApiError } from "#ui/api/error.ts";
import { sampleMachine, sampleMachines } from "#ui/test/sampleMachines.ts";
import {
  createInput,
  dollars,
  emptyForm,
  formOf,
  isComplete,
  lineFindings,
  targetOf,
  updateInput,
} from "./form.ts";

describe("a machine's form", () => {
  it("leaves what is empty to ssh and to the defaults", () => {
    expect(createInput({ ...emptyForm, name: " box ", host: " box.example " })).toEqual({
      name: "box",
      ssh: { host: "box.example", user: null, port: null, identity_file: null, options: [] },
      root: "~/.forge",
      labels: [],
      caps: { runs: null },
      quota: { runs_per_day: null, micro_usd_per_day: null },
    });
  });

  it("has the quota of a day in runs and dollars, and back", () => {
    const quota = { runs_per_day: 40, micro_usd_per_day: 12_500_000 };
    const form = formOf(sampleMachine({ quota }));
    expect([form.runsPerDay, form.costPerDay]).toEqual([40, "12.5"]);
    expect(createInput(form).quota).toEqual(quota);
    expect(dollars("$12,50.1")).toBe("12.50");
    expect(createInput({ ...form, costPerDay: "." }).quota?.micro_usd_per_day).toBeNull();
  });

  it("reads options by lines, and labels by commas or lines", () => {
    const form = {
      ...emptyForm,
      options: " ProxyJump=gate \n\nPort 2\n",
      labels: "gpu, arm\nbig,",
    };
    expect(createInput(form)).toMatchObject({
      ssh: { options: ["ProxyJump=gate", "Port 2"] },
      labels: ["gpu", "arm", "big"],
    });
  });

  it.each(sampleMachines())("keeps $name as it is when nothing is changed", (machine) => {
    const { id, kind, name, root, labels, caps, quota } = machine;
    expect(updateInput(machine, formOf(machine))).toEqual({
      machine_id: id,
      name,
      [kind]: machine[kind],
      root,
      labels,
      caps,
      quota,
    });
  });

  it.each([
    ["", "", false],
    ["box", " ", false],
    [" ", "box", false],
    ["box", "box", true],
  ])("with name %j and host %j is complete: %j", (name, host, complete) => {
    expect(isComplete({ ...emptyForm, name, host })).toBe(complete);
  });
});

it.each([
  [{ ssh: { host: "attic" } }, "attic"],
  [{ ssh: { host: "attic", user: "me", port: null } }, "me@attic"],
  [{ ssh: { host: "attic", user: null, port: 2222 } }, "attic:2222"],
  [sampleMachine(), "me@gpu.example:2222"],
  [{ container: { image: "debian:12" } }, "debian:12"],
  [{ container: { containerfile: "/box/Containerfile" } }, "/box/Containerfile"],
])("says where %j leads: %s", (machine, target) => {
  expect(targetOf(machine)).toBe(target);
});

it("is complete with what the image of a container is taken from", () => {
  const form = { ...emptyForm, kind: "container" as const, name: "box" };
  expect(isComplete({ ...form, host: "box" })).toBe(false);
  expect(isComplete({ ...form, source: "debian:12" })).toBe(true);
});

it("is complete as a cluster with a name alone", () => {
  const form = { ...emptyForm, kind: "slurm" as const };
  expect(isComplete({ ...form, host: "box", source: "debian:12" })).toBe(false);
  expect(isComplete({ ...form, name: "hpc" })).toBe(true);
});

it("finds the line that a finding about a list is about", () => {
  const findings = [
    { path: "labels", message: "must be at most 20" },
    { path: "labels[1]", message: "must be letters" },
    { path: "labels[7]", message: "must be there" },
    { path: "name", message: "must be short" },
  ];
  const error = new ApiError({ code: "invalid", message: "no", details: { findings } });
  expect(lineFindings(error, "labels", ["gpu", "a b"])).toEqual([
    { line: null, message: "must be at most 20" },
    { line: "a b", message: "must be letters" },
    { line: null, message: "must be there" },
  ]);
  expect(lineFindings(null, "labels", [])).toEqual([]);
});
