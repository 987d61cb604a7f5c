/**
 * A project's lifecycle hooks as the editor handles them: the JSON value of the draft, read with
 * care, and what Forge's own actions can do at which event. Pure.
 */
import type { Action, Finding, LifecycleEvent, LifecycleHook } from "#ui/api/generated.ts";
import { getAt, isTree, parsePath } from "#ui/draft/path.ts";

export const events: readonly LifecycleEvent[] = [
  "before_work",
  "on_work_start",
  "on_work_stop",
  "on_task_done",
  "on_task_cancel",
];

const closing: readonly Action[] = [
  "cleanup_workspace_now",
  "schedule_workspace_cleanup",
  "satisfy_dependents",
  "propagate_done_to_subtasks",
  "cancel_pending_subtasks",
];

/** The actions of the engine's registry that also stand as plugins, by event. */
export const pluginsAt: Readonly<Record<LifecycleEvent, readonly Action[]>> = {
  before_work: ["knowledge-inject"],
  on_work_start: ["check_retry_budget"],
  on_work_stop: ["publish_task_blocked"],
  on_task_done: [...closing, "knowledge-capture"],
  on_task_cancel: closing,
};

/** The only event at which a script can keep the agent from being started. */
export const mayBlock = (event: LifecycleEvent): boolean => event === "before_work";

export const defaultTimeout = 30;
export const defaultCodes: readonly number[] = [0];

export type Hooks = Readonly<Partial<Record<LifecycleEvent, readonly LifecycleHook[]>>>;

export function isDrawable(value: unknown): value is Hooks {
  return (
    isTree(value) &&
    events.every((event) => {
      const list = value[event];
      return (
        list === undefined ||
        list === null ||
        (Array.isArray(list) &&
          list.every((hook) => isTree(hook) && ["script", "plugin"].includes(String(hook["type"]))))
      );
    })
  );
}

export const hooksAt = (hooks: Hooks, event: LifecycleEvent): readonly LifecycleHook[] =>
  hooks[event] ?? [];

/** What is not said takes its default. */
export function tidy(hooks: unknown): unknown {
  if (!isDrawable(hooks)) return hooks ?? {};
  const brief = (hook: LifecycleHook): unknown => {
    const members = Object.entries(hook).filter(([key, value]) => {
      if (value === null || value === undefined) return false;
      if (key === "timeout_seconds") return value !== defaultTimeout;
      if (key === "blocking") return value !== false;
      if (key === "enabled") return value !== true;
      if (key === "success_exit_codes") return JSON.stringify(value) !== "[0]";
      return true;
    });
    // The kind goes first: that is how a person reads it.
    const { type, ...rest } = Object.fromEntries(members) as { type: unknown };
    return { type, ...rest };
  };
  return Object.fromEntries(
    events.flatMap((event) => {
      const list = hooksAt(hooks, event);
      return list.length > 0 ? [[event, list.map(brief)]] : [];
    }),
  );
}

/** The merge patch that puts a draft in force: an event that has none any more is said to have none. */
export function patchOf(value: unknown): { lifecycle_hooks: unknown } {
  if (!isTree(value)) return { lifecycle_hooks: value };
  const filled = Object.entries(value).filter(
    ([, list]) => !(Array.isArray(list) && list.length === 0),
  );
  if (filled.length === 0) return { lifecycle_hooks: null };
  const empty = events.map((event) => [event, null] as const);
  return { lifecycle_hooks: { ...Object.fromEntries(empty), ...Object.fromEntries(filled) } };
}

const root = "lifecycle_hooks";

/** Findings by their place in the draft, as far as what they speak of is still as it was. */
export function standing(
  findings: readonly Finding[],
  saved: unknown,
  now: unknown,
): readonly Finding[] {
  return findings
    .map(({ path, message }) => ({
      path: path === root ? "" : path.startsWith(`${root}.`) ? path.slice(root.length + 1) : path,
      message,
    }))
    .filter(({ path }) => {
      const place = parsePath(path);
      return JSON.stringify(getAt(saved, place)) === JSON.stringify(getAt(now, place));
    });
}

/** Exit codes as they are typed; null while they are none. */
export function readCodes(text: string): number[] | null {
  const parts = text.split(/[\s,]+/).filter(Boolean);
  if (parts.length === 0 || parts.some((part) => !/^-?\d{1,6}$/.test(part))) return null;
  return parts.map(Number);
}

/** A hook in one line. */
export function summaryOf(hook: LifecycleHook): string {
  if (hook.type === "plugin") return String(hook.name ?? "");
  const command = typeof hook.command === "string" ? hook.command : "";
  return command.trim().split("\n")[0] ?? "";
}
