/** What can be done to several blocked tasks at once. Pure. */
import type { Offer, Task, Verb } from "#ui/api/generated.ts";

/** The engine's offers that need neither a text nor a look at what is in the way, the mildest first. */
export const recoveryVerbs = [
  "retry",
  "retry_hook",
  "reset_budget",
  "restart_with_changes",
  "restart",
] as const satisfies readonly Verb[];

export type RecoveryVerb = (typeof recoveryVerbs)[number];

export interface Recovery {
  readonly verb: RecoveryVerb;
  /** As the engine words it. */
  readonly label: string;
  /** Those of the tasks that it is offered for. */
  readonly tasks: readonly Task[];
}

const offerOf = (task: Task, verb: Verb): Offer | undefined =>
  task.error_annotation === null
    ? undefined
    : task.offers.find((offer) => offer.verb === verb && offer.fields.length === 0);

export function recoveriesOf(tasks: readonly Task[]): readonly Recovery[] {
  return recoveryVerbs.flatMap((verb): readonly Recovery[] => {
    const offered = tasks.filter((task) => offerOf(task, verb) !== undefined);
    const [first] = offered;
    const label = first && offerOf(first, verb)?.label;
    return label === undefined ? [] : [{ verb, label, tasks: offered }];
  });
}

/** Whether a person has blocked it on purpose: it is helped when it is chosen, not with all others. */
export const isHeldByPerson = ({ error_annotation }: Task): boolean =>
  error_annotation?.type === "manual";

/** Those of the tasks that something can be done to together. */
export const recoverable = (tasks: readonly Task[]): readonly Task[] =>
  tasks.filter((task) => recoveryVerbs.some((verb) => offerOf(task, verb) !== undefined));
