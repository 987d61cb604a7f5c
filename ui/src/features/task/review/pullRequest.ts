/** What of a pull request can be sent to the agent, and what is new of it. Pure. */
import type { HostCheck, PullRequest, SendNews, TaskPullRequest } from "#ui/api/generated.ts";

export interface Chosen {
  readonly comments: ReadonlySet<string>;
  readonly checks: ReadonlySet<string>;
}

export const nothingChosen: Chosen = { comments: new Set(), checks: new Set() };

export const countOf = ({ comments, checks }: Chosen): number => comments.size + checks.size;

export const canBeSent = ({ status }: HostCheck): boolean => status === "failed";

/** Comments that the agent was not told, and checks that failed. */
export function whatIsNew({ pull_request: pull, told }: TaskPullRequest): Chosen {
  return {
    comments: new Set(pull?.comments.map(({ id }) => id).filter((id) => !told.includes(id))),
    checks: new Set(pull?.checks.filter(canBeSent).map(({ name }) => name)),
  };
}

/** Without what the host no longer tells of. */
export function stillThere(chosen: Chosen, pull: PullRequest): Chosen {
  const comments = new Set(pull.comments.map(({ id }) => id));
  const checks = new Set(pull.checks.filter(canBeSent).map(({ name }) => name));
  return {
    comments: new Set([...chosen.comments].filter((id) => comments.has(id))),
    checks: new Set([...chosen.checks].filter((name) => checks.has(name))),
  };
}

export function toggled(set: ReadonlySet<string>, key: string, on: boolean): ReadonlySet<string> {
  const next = new Set(set);
  if (on) next.add(key);
  else next.delete(key);
  return next;
}

export function toNews(taskId: string, chosen: Chosen, message: string): SendNews {
  return {
    task_id: taskId,
    comments: [...chosen.comments],
    checks: [...chosen.checks],
    ...(message.trim() === "" ? {} : { message: message.trim() }),
  };
}
