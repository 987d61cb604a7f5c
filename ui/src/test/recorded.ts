/**
 * What the engine answered about the demo project: `cargo xtask fixtures` records it. The recording's own time was 2030;
 * here it ended a moment ago, so that ages read as they did.
 */
import type { Operations } from "#ui/api/generated.ts";
import about from "./fixtures/about.json";

type Op = keyof Operations;
type Input<Name extends Op> = Operations[Name]["input"];
type Output<Name extends Op> = Operations[Name]["output"];

interface Known {
  readonly input: Readonly<Record<string, unknown>>;
  readonly answer?: unknown;
  readonly refusal?: unknown;
}

const files = import.meta.glob<readonly Known[]>(["./fixtures/*.json", "!./fixtures/about.json"], {
  eager: true,
  import: "default",
});

/** Who and what is in the recording, by what it shows. */
export const cast = about.cast;

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The value as if it had been recorded now. */
function datedNow(value: unknown): unknown {
  const shift = Date.now() - Date.parse(about.now);
  const dated = (part: unknown): unknown => {
    if (typeof part === "string")
      return time.test(part) ? new Date(Date.parse(part) + shift).toISOString() : part;
    if (Array.isArray(part)) return part.map(dated);
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([name, field]) => [name, dated(field)]));
  };
  return dated(value);
}

function find(op: Op, input: Readonly<Record<string, unknown>>): Known {
  // A page of a list, a scope, a filter: the recording has the answer for everything that the path names.
  const known = files[`./fixtures/${op}.json`]?.find((each) =>
    Object.entries(each.input).every(([name, value]) => input[name] === value),
  );
  return (
    known ?? {
      input,
      refusal: {
        code: "not_found",
        message: `Could not answer ${op}: the recording has nothing for ${JSON.stringify(input)}.`,
        hints: [],
        details: null,
      },
    }
  );
}

/** The recorded answer; a recorded refusal is thrown, as a host rejects with it. */
export function recorded<Name extends Op>(op: Name, input: Input<Name>): Output<Name> {
  const known = find(op, input as Readonly<Record<string, unknown>>);
  if (known.refusal) throw datedNow(known.refusal);
  return datedNow(known.answer) as Output<Name>;
}

/** The first item of a recorded list. */
export function first<Item>(list: { readonly items: readonly Item[] }): Item {
  const [item] = list.items;
  if (item === undefined) throw new Error("Could not find an item: the recorded list is empty.");
  return item;
}
