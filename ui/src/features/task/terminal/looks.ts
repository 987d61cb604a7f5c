/** How a terminal looks: colours and type from the window's tokens, in whatever theme it has. */
import type { ITheme } from "@xterm/xterm";

const named = [
  "black",
  "red",
  "green",
  "yellow",
  "blue",
  "magenta",
  "cyan",
  "white",
  "brightBlack",
  "brightRed",
  "brightGreen",
  "brightYellow",
  "brightBlue",
  "brightMagenta",
  "brightCyan",
  "brightWhite",
] as const satisfies readonly (keyof ITheme)[];

export interface Looks {
  readonly theme: ITheme;
  readonly fontFamily: string;
  readonly fontSize: number;
  /** How far text stands out at least, whatever colours a program chooses. */
  readonly minimumContrastRatio: number;
}

/** Tokens of a place, as the values that they have there. `light-dark()` and sizes are resolved only in use. */
function resolver(place: HTMLElement) {
  const probe = document.createElement("span");
  probe.hidden = true;
  place.append(probe);
  const style = getComputedStyle(probe);
  return {
    colour: (token: string) => {
      probe.style.color = `var(${token})`;
      return style.color;
    },
    pixels: (token: string) => {
      probe.style.fontSize = `var(${token})`;
      return Number.parseFloat(style.fontSize);
    },
    text: (token: string) => style.getPropertyValue(token).trim(),
    done: () => probe.remove(),
  };
}

export function looksOf(place: HTMLElement): Looks {
  const token = resolver(place);
  const background = token.colour("--surface-code");
  const theme: ITheme = {
    background,
    foreground: token.colour("--text-1"),
    cursor: token.colour("--text-1"),
    cursorAccent: background,
    selectionBackground: token.colour("--accent-line"),
    selectionForeground: token.colour("--text-1"),
    ...Object.fromEntries(named.map((name, at) => [name, token.colour(`--ansi-${at}`)])),
  };
  const looks = {
    theme,
    fontFamily: token.text("--font-mono") || "monospace",
    fontSize: token.pixels("--text-sm") || 13,
    minimumContrastRatio: document.documentElement.dataset["contrast"] === "more" ? 7 : 4.5,
  };
  token.done();
  return looks;
}

/** Tells when the window's looks change. */
export function onLooks(change: () => void): () => void {
  const observer = new MutationObserver(change);
  observer.observe(document.documentElement, {
    attributeFilter: ["data-theme", "data-contrast", "data-text"],
  });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", change);
  return () => {
    observer.disconnect();
    dark.removeEventListener("change", change);
  };
}
