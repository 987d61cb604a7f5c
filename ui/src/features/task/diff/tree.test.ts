import { beforeEach, describe, expect, it } from "vitest";
import { someFile } from "../testing/fixtures.ts";
import { fileOrder, firstToRead, matching, treeRows } from "./tree.ts";
import { fingerprint, isViewed, setViewed, viewedStore } from "./viewed.ts";

const files = [
  someFile("a.ts"),
  someFile("src/deep/down/one.ts"),
  someFile("src/deep/down/two.ts", { old_path: "src/first.ts" }),
  someFile("src/main.ts"),
];
const drawn = (closed: string[] = []) =>
  treeRows(files, new Set(closed)).map(({ depth, name }) => `${"  ".repeat(depth)}${name}`);

describe("file tree", () => {
  it("puts folders first and chains of single folders in one row", () => {
    expect(drawn()).toEqual([
      "src",
      "  deep/down",
      "    one.ts",
      "    two.ts",
      "  main.ts",
      "a.ts",
    ]);
  });

  it("hides what is in a closed folder", () => {
    expect(drawn(["src/deep/down/"])).toEqual(["src", "  deep/down", "  main.ts", "a.ts"]);
  });

  it("filters by any part of the path, the earlier one too", () => {
    const found = (text: string) => matching(files, text).map(({ path }) => path);
    expect(found(" FIRST ")).toEqual(["src/deep/down/two.ts"]);
    expect(found("src/m")).toEqual(["src/main.ts"]);
    expect(found("")).toHaveLength(4);
  });

  it("steps through files as they are shown, opening with one to read", () => {
    expect(fileOrder(files).map(({ path }) => path)).toEqual([
      "src/deep/down/one.ts",
      "src/deep/down/two.ts",
      "src/main.ts",
      "a.ts",
    ]);
    const generated = someFile("lock", { generated: true });
    expect(firstToRead([generated, ...files])).toBe("a.ts");
    expect(firstToRead([generated])).toBe("lock");
    expect(firstToRead([])).toBeNull();
  });
});

describe("viewed marks", () => {
  beforeEach(() => viewedStore.setState({ tasks: {} }));

  it("hold for the content they were set on", () => {
    const [file = someFile("a")] = files;
    setViewed("t1", file, true);
    const marks = viewedStore.getState().tasks["t1"] ?? {};
    expect(isViewed(marks, file)).toBe(true);
    expect(isViewed(marks, { ...file, added: file.added + 1 })).toBe(false);
    setViewed("t1", file, false);
    expect(viewedStore.getState().tasks["t1"]).toEqual({});
  });

  it("are forgotten for tasks of long ago", () => {
    const file = someFile("a");
    for (let index = 0; index < 80; index += 1) setViewed(`t${index}`, file, true);
    const { tasks } = viewedStore.getState();
    expect(Object.keys(tasks)).toHaveLength(61);
    expect(tasks["t79"]).toEqual({ a: fingerprint(file) });
    expect(tasks["t0"]).toBeUndefined();
  });
});
