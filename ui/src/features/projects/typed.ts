/** Values as people type them, by kind. Pure. */
import type { ParseKeys } from "i18next";
import { inDollars, inMicro, typedDollars } from "./prices.ts";

export type TextKind = "text" | "number" | "decimal" | "dollars";

interface Typing {
  /** The text of a value; nothing for one of another kind. */
  readonly shown: (value: unknown) => string;
  /** What cannot be typed is not there to be wrong. */
  readonly typed: (text: string) => string;
  /** The value of a text; null, for an empty one, returns to the default. */
  readonly said: (text: string) => string | number | null;
  readonly inputMode?: "numeric" | "decimal";
}

const shown = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";
const number = (text: string): number | null => (text.trim() === "" ? null : Number(text));

export const typing: Readonly<Record<TextKind, Typing>> = {
  text: { shown, typed: (text) => text, said: (text) => text.trim() || null },
  number: {
    shown,
    typed: (text) => text.replaceAll(/\D/g, ""),
    said: number,
    inputMode: "numeric",
  },
  decimal: {
    shown,
    typed: (text) => text.replaceAll(/[^\d.]/g, ""),
    said: number,
    inputMode: "decimal",
  },
  dollars: {
    shown: (value) => inDollars(typeof value === "number" ? value : null),
    typed: typedDollars,
    said: inMicro,
    inputMode: "decimal",
  },
};

export type LineKind = "text" | "port";

interface LineTyping {
  /** The value of a line that is not empty. */
  readonly said: (line: string) => string | number;
  /** What is wrong with a line that is not empty; undefined when nothing is. */
  readonly wrong: (line: string) => ParseKeys | undefined;
  readonly inputMode?: "numeric";
}

const lastPort = 65_535;

function isPort(line: string): boolean {
  const port = Number(line);
  return /^\d+$/.test(line) && port >= 1 && port <= lastPort;
}

export const lineTyping: Readonly<Record<LineKind, LineTyping>> = {
  text: { said: (line) => line, wrong: () => undefined },
  port: {
    said: Number,
    wrong: (line) => (isPort(line) ? undefined : "projectSettings.portWrong"),
    inputMode: "numeric",
  },
};
