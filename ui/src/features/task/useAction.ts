/** One deed at a time, with its failure kept beside the button that asked for it. */
import { useCallback, useState } from "react";
import { call } from "#ui/api/client.ts";
import { ApiError } from "#ui/api/error.ts";
import type { Operations } from "#ui/api/generated.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";

type Op = Extract<keyof Operations, string>;

export interface Action {
  /** The operation under way. */
  readonly busy: Op | null;
  readonly error: ApiError | null;
  readonly dismiss: () => void;
  /** Answers null when it failed: the reason is in `error`. */
  run<Name extends Op>(
    op: Name,
    input: Operations[Name]["input"],
  ): Promise<Operations[Name]["output"] | null>;
  /** Whether it is done, or was done already, as a refusal with this code says. */
  runUnless<Name extends Op>(
    code: string,
    op: Name,
    input: Operations[Name]["input"],
  ): Promise<boolean>;
}

export function useAction(onError?: (error: ApiError) => void): Action {
  const platform = usePlatform();
  const [busy, setBusy] = useState<Op | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const attempt = useCallback(
    async <Name extends Op>(op: Name, input: Operations[Name]["input"], doneBy?: string) => {
      setBusy(op);
      setError(null);
      try {
        return await call(platform, op, input);
      } catch (thrown) {
        const failed = ApiError.from(thrown);
        if (failed.code === doneBy) return undefined;
        setError(failed);
        onError?.(failed);
        return null;
      } finally {
        setBusy(null);
      }
    },
    [platform, onError],
  );
  const run = useCallback(
    async <Name extends Op>(op: Name, input: Operations[Name]["input"]) =>
      (await attempt(op, input)) ?? null,
    [attempt],
  );
  const runUnless = useCallback(
    async <Name extends Op>(code: string, op: Name, input: Operations[Name]["input"]) =>
      (await attempt(op, input, code)) !== null,
    [attempt],
  );
  const dismiss = useCallback(() => setError(null), []);
  return { busy, error, dismiss, run, runUnless };
}
