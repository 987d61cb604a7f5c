/** A person's word about one drafted fix. */
import type { RefObject } from "react";
import type { ApiError } from "#ui/api/error.ts";
import type { FixProposal } from "#ui/api/generated.ts";
import { useAction } from "../useAction.ts";

type Verb = "fix_apply" | "fix_reject" | "fix_rollback";

export interface Decision {
  readonly busy: string | null;
  readonly error: ApiError | null;
  readonly dismiss: () => void;
  readonly apply: () => void;
  readonly reject: () => void;
  readonly rollBack: () => void;
}

/** `card` takes the focus once the button that had it is gone. */
export function useDecision(fix: FixProposal, card: RefObject<HTMLElement | null>): Decision {
  const { busy, error, dismiss, run } = useAction();
  const take = (verb: Verb) => () => {
    const path = { task_id: fix.taskId, fix_id: fix.fixId };
    void run(verb, path).then((done) => {
      if (done) card.current?.focus({ preventScroll: true });
    });
  };
  return {
    busy,
    error,
    dismiss,
    apply: take("fix_apply"),
    reject: take("fix_reject"),
    rollBack: take("fix_rollback"),
  };
}
