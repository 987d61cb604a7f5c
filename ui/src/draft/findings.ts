/** What is wrong with a draft, by place. Pure. */
import type { Finding } from "#ui/api/generated.ts";
import { isWithin } from "./path.ts";

export const findingsIn = (findings: readonly Finding[], place: string): readonly Finding[] =>
  findings.filter(({ path }) => isWithin(path, place));

/** What is said about a place and everything in it, as one text for its field. */
export function saidAt(findings: readonly Finding[], place: string): string | undefined {
  const said = findingsIn(findings, place).map(({ message }) => sentence(message));
  return said.length > 0 ? said.join(" ") : undefined;
}

export function sentence(message: string): string {
  const [first = "", ...rest] = message;
  const capital = /[a-z]/.test(first) ? first.toUpperCase() : first;
  const whole = capital + rest.join("");
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/** Of the places that are shown, the one that a finding belongs to: the innermost around it. */
export function nearestPlace(path: string, places: readonly string[]): string | undefined {
  return places
    .filter((place) => isWithin(path, place))
    .sort((one, other) => other.length - one.length)[0];
}
