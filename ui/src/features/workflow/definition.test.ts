import { describe, expect, it } from "vitest";
import type { Workflow } from "#ui/api/generated.ts";
import { sampleWorkflow } from "#ui/test/sample.ts";
import {
  addState,
  changeKind,
  differenceOf,
  isDrawable,
  removeState,
  renameState,
  renameTrigger,
  tidy,
} from "./definition.ts";
import { layoutOf } from "./layout.ts";
import { unclaimedIn } from "./stateFindings.ts";

const triggersOf = ({ states }: Workflow) =>
  Object.fromEntries(
    states.map(({ name, triggers }) => [
      name,
      Object.entries(triggers ?? {}).map(([trigger, { to }]) => `${trigger}>${to}`),
    ]),
  );

describe("editing a definition", () => {
  it("puts a new state between two that followed each other", () => {
    const { workflow, name } = addState(sampleWorkflow, {
      title: "Ready for QA",
      kind: "gate",
      column: "",
      from: "in_progress",
      to: "review",
    });
    expect(name).toBe("ready_for_qa");
    expect(workflow.states.map((state) => state.name).slice(2, 5)).toEqual([
      "in_progress",
      "ready_for_qa",
      "review",
    ]);
    expect(triggersOf(workflow)).toMatchObject({
      in_progress: ["accept>ready_for_qa"],
      ready_for_qa: ["accept>review", "reject>in_progress"],
    });
    expect(workflow.states[3]).toMatchObject({
      column: "Ready for QA",
      display_name: "Ready for QA",
    });
  });

  it("leaves ways as they are where the new state is beside them", () => {
    const { workflow } = addState(sampleWorkflow, {
      title: "Todo",
      kind: "custom",
      column: "Todo",
      from: "todo",
      to: "done",
    });
    expect(triggersOf(workflow)).toMatchObject({
      todo: ["accept>in_progress", "reject>backlog", "retry>todo_2"],
      todo_2: ["accept>done"],
    });
  });

  it("renames a state wherever it is named", () => {
    const renamed = renameState(sampleWorkflow, 2, "doing");
    expect(triggersOf(renamed)).toMatchObject({
      todo: ["accept>doing", "reject>backlog"],
      review: ["accept>merging", "reject>doing"],
      merge_failed: ["retry>doing"],
    });
    expect(renamed.states[3]?.gate_config?.reject_target).toBe("doing");
  });

  it("takes the rules of a gate from a state that becomes another kind", () => {
    const active = changeKind(sampleWorkflow, 3, "active");
    expect(active.states[3]).toMatchObject({ name: "review", kind: "active" });
    expect(active.states[3]).not.toHaveProperty("gate_config");
    const gate = changeKind(sampleWorkflow, 3, "gate");
    expect(gate.states[3]).toEqual(sampleWorkflow.states[3]);
  });

  it("keeps to the other of two states of one name", () => {
    const twice = renameState(sampleWorkflow, 0, "todo");
    const mended = renameState(twice, 0, "ideas");
    expect(mended.states[2]).toEqual(sampleWorkflow.states[2]);
    expect(mended.states.map(({ name }) => name).slice(0, 2)).toEqual(["ideas", "todo"]);
  });

  it("takes the ways to a removed state away", () => {
    const without = removeState(sampleWorkflow, 5);
    expect(triggersOf(without)).toMatchObject({ merging: ["accept>done"] });
    expect(triggersOf(without)).not.toHaveProperty("merge_failed");
  });

  it("renames a trigger in its place", () => {
    const path = ["states", 1, "triggers", "accept"];
    const renamed = renameTrigger(sampleWorkflow, path, "go");
    expect(triggersOf(renamed)["todo"]).toEqual(["go>in_progress", "reject>backlog"]);
  });

  it("names what a preset would change", () => {
    const preset = removeState(
      addState(sampleWorkflow, { title: "QA", kind: "custom", column: "" }).workflow,
      1,
    );
    expect(differenceOf(sampleWorkflow, preset)).toEqual({
      added: ["QA"],
      removed: ["Todo"],
      changed: ["Backlog"],
    });
  });
});

it("leaves out what is not said", () => {
  const workflow: Workflow = {
    name: "x",
    roles: [],
    cancellation_state: "x",
    states: [
      {
        name: "x",
        display_name: "X",
        kind: "terminal",
        column: "X",
        role: null,
        triggers: {},
        hooks: {
          on_enter: [{ action: "run_merge", applies_to: "all", params: null, on_failure: null }],
          on_exit: [],
        },
        config: { retry_budgets: {} },
      },
    ],
  };
  expect(tidy(workflow)).toEqual({
    name: "x",
    roles: [],
    cancellation_state: "x",
    states: [
      {
        name: "x",
        display_name: "X",
        kind: "terminal",
        column: "X",
        hooks: { on_enter: [{ action: "run_merge" }] },
      },
    ],
  });
});

it.each<[unknown, boolean]>([
  [sampleWorkflow, true],
  [{ states: [{ name: 5, triggers: { accept: {} }, hooks: { on_enter: [{}] } }] }, true],
  [{ states: "none" }, false],
  [{ states: ["todo"] }, false],
  [{ states: [{ triggers: { accept: "todo" } }] }, false],
  [{ states: [{ hooks: { on_enter: "run_merge" } }] }, false],
  [null, false],
])("draws what has the branches of a workflow: %#", (value, drawable) => {
  expect(isDrawable(value)).toBe(drawable);
});

it("says on top what no field shows", () => {
  const at = (path: string) => ({ path: `states[2].${path}`, message: "x" });
  const shown = [
    "name",
    "cleanup.delayed.seconds",
    "triggers.accept.to",
    'triggers["a b"]',
    "hooks.on_enter[0].action",
  ];
  const rest = ["colour", "triggers", "hooks.before", "gate_config", "triggers.accept.other"];
  expect(unclaimedIn([...shown, ...rest].map(at), 2).map(({ path }) => path.slice(10))).toEqual(
    rest,
  );
  expect(unclaimedIn([{ path: "states[2]", message: "x" }, at("name")], 2)).toHaveLength(1);
});

describe("layout", () => {
  it("draws the same definition the same way, a band a column", () => {
    const layout = layoutOf(sampleWorkflow);
    expect(layoutOf(structuredClone(sampleWorkflow))).toEqual(layout);
    expect(layout.bands.map(({ column }) => column)).toEqual([
      "Backlog",
      "Todo",
      "In progress",
      "Review",
      "Blocked",
      "Done",
      "Cancelled",
    ]);
    const [review, merging, failed] = layout.states.slice(3, 6);
    expect(new Set([review?.y, merging?.y, failed?.y]).size).toBe(1);
    expect((review?.x ?? 0) < (merging?.x ?? 0) && (merging?.x ?? 0) < (failed?.x ?? 0)).toBe(true);
  });

  it("leads no line through a state", () => {
    const layout = layoutOf(sampleWorkflow);
    const boxes = layout.states.map(({ x, y }) => ({
      left: x,
      right: x + 172,
      top: y,
      bottom: y + 48,
    }));
    for (const { id, points } of layout.moves) {
      points.slice(1).forEach((end, at) => {
        const start = points[at] ?? end;
        for (const box of boxes) {
          const apart =
            Math.max(start.x, end.x) <= box.left ||
            Math.min(start.x, end.x) >= box.right ||
            Math.max(start.y, end.y) <= box.top ||
            Math.min(start.y, end.y) >= box.bottom;
          expect(apart, `${id} runs through a state`).toBe(true);
        }
      });
    }
  });
});
