/** Changes that programs make on another machine: no event tells of them, so they are read again while they are shown. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { DiffSummary } from "#ui/api/generated.ts";

/** The machine is asked that often; each answer costs it a look at all files. */
export const everyMs = 4_000;

/** How often changes are read again: not at all while their files are on this computer. */
export const whileThere = (summary: DiffSummary | undefined): number | false =>
  summary?.there ? everyMs : false;

const ofFiles: readonly unknown[] = ["task_diff_file", "task_diff_preview"];

/** Reads the shown file again when something else stands on the machine than what was shown. */
export function useFilesOf(taskId: string, snapshot: string | null): void {
  const client = useQueryClient();
  const shown = useRef(snapshot);
  useEffect(() => {
    const before = shown.current;
    shown.current = snapshot;
    if (before === null || before === snapshot) return;
    void client.invalidateQueries({
      predicate: ({ queryKey }) =>
        ofFiles.includes(queryKey[0]) &&
        queryKey.some((part) => (part as { task_id?: unknown } | null)?.task_id === taskId),
    });
  }, [client, taskId, snapshot]);
}
