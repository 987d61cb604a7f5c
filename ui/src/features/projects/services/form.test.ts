import { describe, expect, it } from "vitest";
import type { ServiceDefinition } from "#ui/api/generated.ts";
import {
  canBeSaved,
  definitionOf,
  emptyService,
  formOf,
  formsIn,
  freeName,
  problemsIn,
  textOf,
} from "./form.ts";

describe("a service's form", () => {
  it.each<ServiceDefinition>([
    { name: "web", command: "npm run dev" },
    { name: "db", command: "postgres", ready: { pattern: "ready to accept" }, start: "on_review" },
    { name: "api", command: "run", ready: { port: true }, ready_within_seconds: 600 },
    {
      name: "ui",
      command: "run",
      cwd: "ui",
      env: { A: "1", B: "" },
      ready: { http: "/health" },
      open: "/app",
      stop_after_minutes: 5,
    },
  ])("gives back what it was made of: $name", (service) => {
    expect(definitionOf(formOf(service))).toEqual(service);
    expect(formsIn(textOf([service]))).toEqual([formOf(service)]);
  });

  it("says nothing of what is as it is without, and keeps what the engine is to refuse", () => {
    const service: ServiceDefinition = {
      name: "web",
      command: "run",
      cwd: null,
      env: {},
      ready: null,
      open: null,
      start: "manual",
      stop_after_minutes: null,
    };
    expect(definitionOf(formOf(service))).toEqual({ name: "web", command: "run" });
    const typed = {
      ...emptyService,
      ready: "http",
      readyText: " ",
      stopMinutes: 0,
      env: [
        { name: " ", value: "" },
        { name: "A", value: "" },
      ],
    } as const;
    expect(definitionOf(typed)).toEqual({
      name: "",
      command: "",
      ready: { http: "" },
      stop_after_minutes: 0,
      env: { A: "" },
    });
  });

  it("is not saved while a variable is set twice, which would lose a value", () => {
    const twice = [
      { name: "A", value: "1" },
      { name: "A ", value: "2" },
    ];
    expect(canBeSaved([{ ...emptyService, env: twice }])).toBe(false);
    expect(canBeSaved([{ ...emptyService, env: twice.slice(1) }])).toBe(true);
  });

  it("is not saved while a value has no name, which would lose it", () => {
    const env = [
      { name: " ", value: "1" },
      { name: "", value: "" },
    ];
    expect(canBeSaved([{ ...emptyService, env }])).toBe(false);
    expect(problemsIn({ ...emptyService, env })).toBe(1);
    expect(canBeSaved([{ ...emptyService, env: env.slice(1) }])).toBe(true);
  });
});

it.each([
  ["web", [], "web"],
  ["web", ["web"], "web-2"],
  ["web-2", ["web", "web-2"], "web-3"],
  ["x".repeat(40), ["x".repeat(40)], `${"x".repeat(38)}-2`],
])("names another %s", (wanted, taken, name) => {
  expect(freeName(wanted, taken)).toBe(name);
});
