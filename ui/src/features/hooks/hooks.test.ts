import { expect, it } from "vitest";
import { patchOf, readCodes, standing, tidy } from "./hooks.ts";

it("says what differs from the defaults, the kind first", () => {
  expect(
    JSON.stringify(
      tidy({
        before_work: [
          {
            command: "npm ci",
            type: "script",
            timeout_seconds: 30,
            blocking: true,
            success_exit_codes: [0],
          },
          { type: "plugin", name: "knowledge-inject", enabled: true, config: null },
        ],
        on_work_stop: [],
      }),
    ),
  ).toBe(
    '{"before_work":[{"type":"script","command":"npm ci","blocking":true},{"type":"plugin","name":"knowledge-inject"}]}',
  );
});

it("says of an event that it has no hooks any more", () => {
  const hook = { type: "script", command: "true" };
  expect(patchOf({ on_task_done: [hook], before_work: [] })).toEqual({
    lifecycle_hooks: {
      before_work: null,
      on_work_start: null,
      on_work_stop: null,
      on_task_done: [hook],
      on_task_cancel: null,
    },
  });
  expect(patchOf({})).toEqual({ lifecycle_hooks: null });
  expect(patchOf({ before_wrk: [hook] }).lifecycle_hooks).toMatchObject({ before_wrk: [hook] });
});

it("keeps a finding until what it speaks of was changed", () => {
  const findings = [
    { path: "lifecycle_hooks.before_work[0].command", message: "must not be blank" },
    { path: "lifecycle_hooks.on_work_stop[0].blocking", message: "cannot block" },
  ];
  const saved = {
    before_work: [{ type: "script", command: "" }],
    on_work_stop: [{ type: "script", command: "x", blocking: true }],
  };
  expect(standing(findings, saved, saved).map(({ path }) => path)).toEqual([
    "before_work[0].command",
    "on_work_stop[0].blocking",
  ]);
  const mended = { ...saved, before_work: [{ type: "script", command: "npm ci" }] };
  expect(standing(findings, saved, mended).map(({ path }) => path)).toEqual([
    "on_work_stop[0].blocking",
  ]);
});

it.each<[string, number[] | null]>([
  ["0", [0]],
  ["0, 2,75", [0, 2, 75]],
  ["-1 0", [-1, 0]],
  ["", null],
  ["one", null],
  ["1.5", null],
])("reads the exit codes %j", (text, codes) => expect(readCodes(text)).toEqual(codes));
