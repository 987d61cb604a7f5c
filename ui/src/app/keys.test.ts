import { beforeEach, describe, expect, it } from "vitest";
import { keyParts, matches, parseKeys } from "#ui/components/combo.ts";
import { commandStore, createKeyListener, registerCommands, type Command } from "./keys.ts";

let ran: string[] = [];
let clock = 0;
const command = (id: string, keys: string[], enabled = true): Command => ({
  id,
  label: id,
  group: "test",
  keys,
  enabled,
  run: () => ran.push(id),
});

const known = [
  command("palette", ["mod+k"]),
  command("help", ["?"]),
  command("board", ["g b"]),
  command("attention", ["g a"]),
  command("create", ["c"]),
  command("closed", ["x"], false),
  command("open", ["enter"]),
  command("pick", ["space"]),
];

beforeEach(() => {
  ran = [];
  clock = 0;
});

function typist() {
  const listener = createKeyListener(
    () => known,
    () => clock,
  );
  return (key: string, init: KeyboardEventInit = {}, target: HTMLElement = document.body) => {
    const event = new KeyboardEvent("keydown", { key, cancelable: true, bubbles: true, ...init });
    document.body.append(target === document.body ? "" : target);
    target.addEventListener("keydown", listener, { once: true });
    target.dispatchEvent(event);
    return event;
  };
}

describe("the key listener", () => {
  it("runs single keys, modified keys and sequences", () => {
    const type = typist();
    type("k", { ctrlKey: true });
    type("?", { shiftKey: true });
    type("g");
    type("b");
    type("c");
    expect(ran).toEqual(["palette", "help", "board", "create"]);
  });

  it("leaves Enter and Space to the control that has the focus", () => {
    const type = typist();
    const button = document.createElement("button");
    expect(type("Enter", {}, button).defaultPrevented).toBe(false);
    expect(type(" ", {}, button).defaultPrevented).toBe(false);
    expect(ran).toEqual([]);
    type("Enter");
    type(" ");
    expect(ran).toEqual(["open", "pick"]);
  });

  it("forgets a sequence after a second, and takes a broken one as a new start", () => {
    const type = typist();
    type("g");
    clock = 1_500;
    type("b");
    type("g");
    type("c");
    expect(ran).toEqual(["create"]);
  });

  it("leaves typing alone but for modified keys", () => {
    const type = typist();
    const input = document.createElement("input");
    expect(type("c", {}, input).defaultPrevented).toBe(false);
    type("k", { ctrlKey: true }, input);
    expect(ran).toEqual(["palette"]);
  });

  it("does not reach through a dialog", () => {
    const type = typist();
    const dialog = document.createElement("div");
    dialog.role = "dialog";
    dialog.setAttribute("role", "dialog");
    type("c", {}, dialog);
    expect(ran).toEqual([]);
  });

  it("passes keys of commands that are off", () => {
    expect(typist()("x").defaultPrevented).toBe(false);
    expect(ran).toEqual([]);
  });
});

it("takes back what was registered, and only that", () => {
  const first = registerCommands([command("same", ["a"])]);
  const second = registerCommands([command("same", ["b"])]);
  first();
  expect(commandStore.getState().commands.get("same")?.keys).toEqual(["b"]);
  second();
  expect(commandStore.getState().commands.has("same")).toBe(false);
});

it.each<[string, boolean, string[]]>([
  ["mod+shift+k", false, ["Ctrl", "Shift", "K"]],
  ["mod+shift+k", true, ["⌘", "⇧", "K"]],
  ["g b", false, ["G", "B"]],
  ["mod+enter", false, ["Ctrl", "↵"]],
  ["?", false, ["?"]],
  ["f2", false, ["F2"]],
])("prints %j (Mac: %s) as %j", (keys, mac, expected) => {
  expect(keyParts(keys, mac)).toEqual(expected);
});

it("does not take a letter with Shift for the letter alone", () => {
  const [combo] = parseKeys("c");
  const event = { key: "C", ctrlKey: false, metaKey: false, shiftKey: true, altKey: false };
  expect(combo && matches(combo, event)).toBe(false);
});
