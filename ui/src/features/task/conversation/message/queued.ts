/** What was said to an agent at work and waits for the end of its run, as the engine keeps it. Pure. */
import type { SaidMessage, Transition } from "#ui/api/generated.ts";

/** The messages that wait, the first said first. */
export function queuedMessages(transitions: readonly Transition[]): readonly SaidMessage[] {
  return transitions
    .flatMap(({ steps }) => steps)
    .flatMap(({ message }) => (message === null ? [] : [message]));
}
