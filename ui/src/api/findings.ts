/** The engine's findings about an input, so that a form can show each at its field. Pure. */
import type { ApiError } from "./error.ts";

export interface Finding {
  readonly path: string;
  readonly message: string;
}

export function findingsOf(error: ApiError | null): readonly Finding[] {
  const { findings } = (error?.details ?? {}) as { findings?: unknown };
  if (!Array.isArray(findings)) return [];
  return findings.filter(
    (found): found is Finding =>
      typeof found?.path === "string" && typeof found?.message === "string",
  );
}

const within = (path: string, field: string) =>
  path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);

/** What is said about a field, or about anything inside it. */
export function findingAt(error: ApiError | null, field: string): string | undefined {
  const messages = findingsOf(error)
    .filter(({ path }) => within(path, field))
    .map(({ message }) => message);
  return messages.length > 0 ? messages.join(" ") : undefined;
}

/** What is left to say when the shown fields have said theirs; null when nothing is. */
export function restOf(error: ApiError | null, fields: readonly string[]): string | null {
  if (!error) return null;
  const findings = findingsOf(error);
  if (findings.length === 0) return error.message;
  const rest = findings.filter(({ path }) => !fields.some((field) => within(path, field)));
  if (rest.length === 0) return null;
  return rest.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join(" ");
}
