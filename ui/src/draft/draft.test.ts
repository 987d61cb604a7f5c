import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  dropDraft,
  drafts,
  editDraft,
  isDirty,
  openDraft,
  rebaseDraft,
  redoDraft,
  resetDraft,
  saveDraft,
  undoDraft,
  type Saved,
} from "./drafts.ts";
import { formatJson, lineColumnAt, offsetAt, parseJson } from "./json.ts";
import { clearAt, formatPath, getAt, isWithin, parsePath, placeOf, setAt } from "./path.ts";

describe("json", () => {
  it.each([
    "null",
    ' [1, -2.5e+3, "a\\u00e9\\n", true, {"a": {"b": []}, "": {}}] ',
    '{"a":1,"a":2}',
  ])("reads what JSON.parse reads: %s", (text) => {
    const parsed = parseJson(text);
    expect(parsed.ok && parsed.value).toEqual(JSON.parse(text));
  });

  it.each<[string, string, number, number]>([
    ['{\n  "name": }', "value", 2, 11],
    ["{} x", "end", 1, 4],
    ["", "value", 1, 1],
    ["[1,\n2,\n", "value", 3, 1],
    ['{"a" 1}', "colon", 1, 6],
    ["{a: 1}", "key", 1, 2],
    ['{"a": 1 "b": 2}', "comma", 1, 9],
    ['["\n"]', "value", 1, 2],
    ["[01]", "comma", 1, 3],
  ])("says what %j lacks, and where", (text, expected, line, column) => {
    const parsed = parseJson(text);
    expect(parsed.ok ? null : parsed.error).toMatchObject({ expected, line, column });
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  });

  it("counts lines and columns both ways", () => {
    const text = "a\nbc\n\nd";
    for (let offset = 0; offset <= text.length; offset += 1) {
      expect(offsetAt(text, lineColumnAt(text, offset))).toBe(offset);
    }
  });

  it("opens what does not fit a line, and nothing else", () => {
    const value = { name: "x", states: [{ name: "todo", triggers: { accept: { to: "done" } } }] };
    expect(formatJson(value, 200)).toBe(
      '{ "name": "x", "states": [{ "name": "todo", "triggers": { "accept": { "to": "done" } } }] }\n',
    );
    expect(formatJson(value, 70)).toBe(
      '{\n  "name": "x",\n  "states": [\n    { "name": "todo", "triggers": { "accept": { "to": "done" } } }\n  ]\n}\n',
    );
  });
});

describe("paths", () => {
  it.each<[string, (string | number)[]]>([
    ["", []],
    ["states[2].gate_config.reject_target", ["states", 2, "gate_config", "reject_target"]],
    ['states[0].triggers["to the end"].to', ["states", 0, "triggers", "to the end", "to"]],
    ["lifecycle_hooks.before_work[0].command", ["lifecycle_hooks", "before_work", 0, "command"]],
    ["knowledge-inject", ["knowledge-inject"]],
  ])("reads and writes %s", (text, path) => {
    expect(parsePath(text)).toEqual(path);
    expect(formatPath(path)).toBe(text);
  });

  it.each<[string, string, boolean]>([
    ["states[1].name", "states[1]", true],
    ["states[1]", "states[1]", true],
    ["states[12]", "states[1]", false],
    ["states", "states[1]", false],
    ["anything", "", true],
  ])("%s lies in %s: %s", (path, place, within) => expect(isWithin(path, place)).toBe(within));

  it("finds the place of a path in the text, or of the nearest thing around it", () => {
    const text = '{\n  "states": [\n    { "name": "a", "hooks": { "on_enter": [] } }\n  ]\n}';
    const parsed = parseJson(text);
    if (!parsed.ok) throw new Error("the text is JSON");
    const said = (path: string) => {
      const { from, to } = placeOf(parsed.root, parsePath(path));
      return [text.slice(from, to), lineColumnAt(text, from).line];
    };
    expect(said("states[0].name")).toEqual(['"a"', 3]);
    expect(said("states[0].hooks")).toEqual(['"hooks"', 3]);
    expect(said("states[0]")).toEqual(["{", 3]);
    expect(said("states[0].column")).toEqual(["{", 3]);
    expect(said("states")).toEqual(['"states"', 2]);
    expect(said("")).toEqual(["{", 1]);
  });

  it("changes one place and leaves the rest as it is", () => {
    const root = { a: [{ b: 1 }, { b: 2 }], c: {} };
    expect(setAt(root, ["a", 1, "b"], 3)).toEqual({ a: [{ b: 1 }, { b: 3 }], c: {} });
    expect(setAt(root, ["a", 0], undefined)).toEqual({ a: [{ b: 2 }], c: {} });
    expect(getAt(setAt(root, ["x", "y"], 1), ["x", "y"])).toBe(1);
    expect(clearAt({ a: { b: { c: 1 } }, d: 1 }, ["a", "b", "c"])).toEqual({ d: 1 });
  });
});

describe("drafts", () => {
  beforeEach(() => drafts.setState({ drafts: {} }));
  const now = () => drafts.getState().drafts["k"];

  it("undoes and does again, edits of one group together", () => {
    openDraft("k", "a", 1);
    editDraft("k", "ab", "typing");
    editDraft("k", "abc", "typing");
    editDraft("k", "x");
    undoDraft("k");
    expect(now()?.text).toBe("abc");
    undoDraft("k");
    expect(now()?.text).toBe("a");
    undoDraft("k");
    expect(now()?.text).toBe("a");
    redoDraft("k");
    redoDraft("k");
    expect(now()?.text).toBe("x");
  });

  it("follows what is saved while nothing is written, and keeps what is", () => {
    openDraft("k", "a", 1);
    openDraft("k", "b", 2);
    expect(now()).toMatchObject({ text: "b", base: "b", version: 2 });
    editDraft("k", "mine");
    openDraft("k", "c", 3);
    expect(now()).toMatchObject({ text: "mine", base: "b", version: 2, isStale: true });
    // What it began from is saved again: nothing is in its way.
    openDraft("k", "b", 4);
    expect(now()).toMatchObject({ text: "mine", base: "b", version: 4, isStale: false });
    openDraft("k", "c", 3);
    rebaseDraft("k", "c", 3);
    expect(now()).toMatchObject({ text: "mine", base: "c", version: 3, isStale: false });
    openDraft("k", "mine", 4);
    expect(now()).toMatchObject({ text: "mine", base: "mine", version: 4 });
    editDraft("k", "again");
    resetDraft("k", "mine", 4);
    const draft = now();
    expect(draft && isDirty(draft)).toBe(false);
  });

  const at = (base: string) => Promise.resolve({ base, version: null });

  it("judges what is saved elsewhere during a save once the save is answered", async () => {
    openDraft("k", "a", null);
    editDraft("k", "mine");
    const saving = saveDraft(
      "k",
      () => Promise.reject(new Error("refused")),
      () => at("theirs"),
    );
    openDraft("k", "theirs", null);
    expect(now()).toMatchObject({ isSaving: true, isStale: false });
    await saving;
    expect(now()).toMatchObject({ text: "mine", base: "a", isSaving: false, isStale: true });
    const put = vi.fn<() => Promise<Saved>>(() => at("mine"));
    await saveDraft("k", put, () => at("theirs"));
    expect(put).not.toHaveBeenCalled();
  });

  it("keeps the part that was not saved", async () => {
    openDraft("k", "a", null);
    editDraft("k", "b");
    await saveDraft(
      "k",
      () => Promise.resolve({ base: "half", version: null, left: "half and rest" }),
      () => at("half"),
    );
    expect(now()).toMatchObject({ text: "half and rest", base: "half", isStale: false });
  });

  it("carries the steps of undo to a new base, and forgets a draft that is dropped", () => {
    openDraft("k", "a", null);
    editDraft("k", "ab");
    editDraft("k", "abc");
    undoDraft("k");
    rebaseDraft("k", "A", null, (each) => each.replace("a", "A"));
    expect(now()).toMatchObject({ base: "A", text: "Ab", past: ["A"], future: ["Abc"] });
    dropDraft("k");
    expect(now()).toBeUndefined();
  });

  it("keeps what is written while it is saved, and saves nothing twice at a time", async () => {
    openDraft("k", "a", null);
    editDraft("k", "one");
    const put = vi.fn<() => Promise<Saved>>(() => at("one as saved"));
    const saving = saveDraft("k", put, () => at("one as saved"));
    await saveDraft("k", put, () => at("one as saved"));
    editDraft("k", "one, two");
    await saving;
    expect(put).toHaveBeenCalledTimes(1);
    expect(now()).toMatchObject({ text: "one, two", base: "one as saved", isStale: false });
  });
});
