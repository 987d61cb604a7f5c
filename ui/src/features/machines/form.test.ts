import { describe, expect, it } from "vitest";
import { ApiError } from "#ui/api/error.ts";
import { sampleMachine, sampleMachines } from "#ui/test/sampleMachines.ts";
import {
  createInput,
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
    });
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
    const { id, name, ssh, root, labels, caps } = machine;
    expect(updateInput(machine, formOf(machine))).toEqual({
      machine_id: id,
      name,
      ssh,
      root,
      labels,
      caps,
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
  [{ host: "attic" }, "attic"],
  [{ host: "attic", user: "me", port: null }, "me@attic"],
  [{ host: "attic", user: null, port: 2222 }, "attic:2222"],
  [sampleMachine().ssh, "me@gpu.example:2222"],
])("says where %j leads: %s", (ssh, target) => {
  expect(targetOf(ssh)).toBe(target);
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
