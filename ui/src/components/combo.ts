/**
 * Key combinations as text: "mod+k", "shift+/", "g b" (a sequence). `mod` is Command on a Mac
 * and Control elsewhere. Letters are named by what they type, so layouts are honoured.
 */
export interface Combo {
  readonly key: string;
  readonly mod: boolean;
  readonly shift: boolean;
  readonly alt: boolean;
}

export type Strokes = readonly Combo[];

export const isMac = /mac/i.test(navigator.platform);

const names: Record<string, string> = {
  enter: "↵",
  escape: "Esc",
  arrowup: "↑",
  arrowdown: "↓",
  arrowleft: "←",
  arrowright: "→",
  backspace: "⌫",
  space: "Space",
  tab: "Tab",
};

export function parseKeys(keys: string): Strokes {
  return keys
    .trim()
    .split(/\s+/)
    .map((stroke) => {
      const parts = stroke.toLowerCase().split("+");
      // "+" itself splits into empty parts.
      const key = parts.at(-1) || "+";
      const held = new Set(parts.slice(0, -1));
      return { key, mod: held.has("mod"), shift: held.has("shift"), alt: held.has("alt") };
    });
}

/** The caps to print, in the order they are pressed. */
export function keyParts(keys: string, mac = isMac): string[] {
  return parseKeys(keys).flatMap(({ key, mod, shift, alt }) => [
    ...(mod ? [mac ? "⌘" : "Ctrl"] : []),
    ...(alt ? [mac ? "⌥" : "Alt"] : []),
    ...(shift ? [mac ? "⇧" : "Shift"] : []),
    names[key] ?? (key.length === 1 ? key.toUpperCase() : key[0]?.toUpperCase() + key.slice(1)),
  ]);
}

type KeyEvent = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">;

export function matches(combo: Combo, event: KeyEvent, mac = isMac): boolean {
  const key = event.key === " " ? "space" : event.key.toLowerCase();
  if (key !== combo.key) return false;
  const mod = mac ? event.metaKey : event.ctrlKey;
  const foreign = mac ? event.ctrlKey : event.metaKey;
  if (mod !== combo.mod || foreign || event.altKey !== combo.alt) return false;
  // Shift is already in the character of keys such as "?"; it counts only for letters and names.
  const shiftIsInKey = key.length === 1 && key.toUpperCase() === key;
  return shiftIsInKey || event.shiftKey === combo.shift;
}
