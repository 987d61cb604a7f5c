/**
 * Closing a task ends its terminals. Where a program runs in one, the engine refuses, and the person is asked, whatever
 * of the page closes the task.
 */
import { createStore } from "zustand/vanilla";
import { ApiError } from "#ui/api/error.ts";
import type { Platform } from "#ui/platform/types.ts";

interface Question {
  /** What runs where, as the engine says it. */
  readonly why: string;
  readonly answer: (ends: boolean) => void;
}

export const terminalQuestion = createStore<{ readonly asked: Question | null }>(() => ({
  asked: null,
}));

/** The operations that can close a task, or take its worktree. */
const closing: ReadonlySet<string> = new Set([
  "task_transition",
  "task_move",
  "task_action",
  "task_delete",
  "workspace_reset",
  "workspace_remove",
  "project_delete",
]);

const ask = (why: string) =>
  new Promise<boolean>((resolve) => {
    // Several tasks that are closed at once are asked about one after the other.
    const next = () =>
      terminalQuestion.setState({
        asked: {
          why,
          answer: (ends) => {
            terminalQuestion.setState({ asked: null });
            resolve(ends);
          },
        },
      });
    if (!terminalQuestion.getState().asked) return next();
    const stop = terminalQuestion.subscribe(() => {
      if (terminalQuestion.getState().asked) return;
      stop();
      next();
    });
  });

/** The same host, which asks before programs in terminals end. */
export function askingHost(platform: Platform): Platform {
  const call: Platform["call"] = async (op, input) => {
    try {
      return await platform.call(op, input);
    } catch (thrown) {
      const error = ApiError.from(thrown);
      if (!closing.has(op) || error.code !== "terminal_busy") throw thrown;
      if (!(await ask(error.message))) throw thrown;
      return platform.call(op, { ...(input as object), end_terminals: true });
    }
  };
  return Object.assign(Object.create(platform) as Platform, { call });
}
