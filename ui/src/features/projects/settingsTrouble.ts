/** Why what is written in a project's settings is not saved, on whichever page it is written. Pure. */
import type { ApiError } from "#ui/api/error.ts";
import { findingsOf } from "#ui/api/findings.ts";
import type { SettingsView } from "#ui/api/generated.ts";
import { draftOf, isWhole } from "./codeHost.ts";
import { rowsOf, wrongIn } from "./prices.ts";
import { pageOf, type PageId } from "./settingsPages.ts";
import { linesAt } from "./settingsPath.ts";
import { lineTyping } from "./typed.ts";

const wrongValues: readonly (readonly [string, (settings: SettingsView["settings"]) => boolean])[] =
  [
    ["code_host", ({ code_host }) => code_host != null && !isWhole(draftOf(code_host))],
    ["issues.rule", ({ issues }) => issues?.rule != null && issues.rule.labels.length === 0],
    ["model_prices", ({ model_prices }) => wrongIn(rowsOf(model_prices ?? {})) !== null],
    [
      "sandbox.ports",
      (settings) =>
        linesAt(settings, "sandbox.ports").some(
          (line) => lineTyping.port.wrong(line) !== undefined,
        ),
    ],
  ];

/** The values among `changed` paths that cannot be saved as they are written. */
export function wrongPathsIn(
  settings: SettingsView["settings"],
  changed: readonly string[],
): readonly string[] {
  return wrongValues
    .filter(([path]) => changed.some((each) => each === path || each.startsWith(`${path}.`)))
    .filter(([, isWrong]) => isWrong(settings))
    .map(([path]) => path);
}

export interface Trouble {
  /** How many fields are wrong. */
  readonly fields: number;
  /** The pages of these fields. */
  readonly pages: readonly PageId[];
  /** What no field can say. */
  readonly messages: readonly string[];
}

/** What the engine refused. */
export interface Refusals {
  readonly settings: ApiError | null;
  readonly project: ApiError | null;
}

export function troubleOf(wrong: readonly string[], refused: Refusals): Trouble {
  const findings = [
    ...findingsOf(refused.settings),
    ...findingsOf(refused.project).map((found) => ({ ...found, path: `project.${found.path}` })),
  ];
  const atFields = findings.filter(({ path }) => pageOf(path) !== undefined);
  const paths = [...new Set([...wrong, ...atFields.map(({ path }) => path)])];
  return {
    fields: paths.length,
    pages: [...new Set(paths.flatMap((path) => pageOf(path) ?? []))],
    messages: [
      ...[refused.settings, refused.project].flatMap((error) =>
        error && findingsOf(error).length === 0 ? [error.message] : [],
      ),
      ...findings
        .filter(({ path }) => pageOf(path) === undefined)
        .map(({ path, message }) => `${path}: ${message}`),
    ],
  };
}
