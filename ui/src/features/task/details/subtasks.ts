/** A task's parts: their order, how far they are, what a change of order is made of. Pure. */
import type { Task } from "#ui/api/generated.ts";

/** A change to one part's turn. */
export interface Turn {
  readonly task: Task;
  readonly order: number;
}

export const isOrdered = ({ execution_mode: mode }: Task): boolean => mode === "ordered_turn";

const turnOf = ({ subtask_order: order }: Task): number => order ?? Number.MAX_SAFE_INTEGER;

/** The parts as they are listed: those that run in turn by their turn, then the others by number. */
export function inOrder(parts: readonly Task[]): Task[] {
  const ordered = parts
    .filter(isOrdered)
    .sort((one, other) => turnOf(one) - turnOf(other) || one.number - other.number);
  const others = parts
    .filter((part) => !isOrdered(part))
    .sort((one, other) => one.number - other.number);
  return [...ordered, ...others];
}

/**
 * What must be written so that a part changes places with its neighbour above (-1) or below (1);
 * nothing where there is none. Turns that are missing or given twice are set right on the way.
 */
export function moved(parts: readonly Task[], id: string, by: -1 | 1): Turn[] {
  const ordered = inOrder(parts).filter(isOrdered);
  const from = ordered.findIndex((part) => part.id === id);
  const to = from + by;
  const part = ordered[from];
  const neighbour = ordered[to];
  if (!part || !neighbour) return [];
  const turns = ordered.map(({ subtask_order: order }) => order);
  const wellNumbered = turns.every(
    (turn, index) => turn !== null && (index === 0 || turn > (turns[index - 1] ?? turn)),
  );
  const next = [...ordered];
  next[from] = neighbour;
  next[to] = part;
  return next
    .map((task, index) => ({ task, order: wellNumbered ? (turns[index] ?? index) : index + 1 }))
    .filter(({ task, order }) => task.subtask_order !== order);
}

/** The part whose turn could not be finished: the one the engine names, else the first open one. */
export function pausedPart(
  parts: readonly Task[],
  details: unknown,
  isClosed: (part: Task) => boolean,
): Task | undefined {
  const named =
    typeof details === "object" && details !== null && "subtask_id" in details
      ? details.subtask_id
      : null;
  const ordered = inOrder(parts).filter(isOrdered);
  return ordered.find(({ id }) => id === named) ?? ordered.find((part) => !isClosed(part));
}
