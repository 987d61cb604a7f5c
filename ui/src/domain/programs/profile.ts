/** Agents that are made of programs that were found. Pure. */
import type { CreateAgent, KnownAgent } from "#ui/api/generated.ts";

/** A name that no profile has: "Codex", "Codex 2", ... */
export function freeName(wanted: string, taken: readonly string[]): string {
  const used = new Set(taken.map((name) => name.toLocaleLowerCase()));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted} ${number}`;
    if (!used.has(name.toLocaleLowerCase())) return name;
  }
}

/** The profile that one press makes of a program that was found. */
export function profileFor(known: KnownAgent, taken: readonly string[]): CreateAgent {
  return {
    name: freeName(known.name, taken),
    adapter: known.adapter,
    config: known.config,
    max_concurrent: 1,
  };
}
