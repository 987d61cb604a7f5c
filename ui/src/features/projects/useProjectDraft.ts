/** What a project is, beside its settings, as it is edited: saved by the operations that change it. */
import { useEffect } from "react";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import type { Project } from "#ui/api/generated.ts";
import {
  editDraft,
  isDirty,
  openDraft,
  rebaseDraft,
  resetDraft,
  saveDraft,
  useDraft,
  type Saved,
} from "#ui/draft/drafts.ts";

type Edited = Pick<Project, "name" | "default_branch" | "work_mode" | "paused">;

export const projectDraftKey = (projectId: string): string => `project:${projectId}`;

const savedIn = ({ name, default_branch, work_mode, paused }: Edited): Saved => ({
  base: JSON.stringify({ name, default_branch, work_mode, paused } satisfies Edited),
  version: null,
});

export interface ProjectDraft {
  readonly values: Edited;
  readonly isChanged: boolean;
  readonly isStale: boolean;
  readonly isSaving: boolean;
  readonly error: ReturnType<typeof useOpMutation<"project_update">>["error"];
  readonly set: (change: Partial<Edited>) => void;
  readonly save: () => Promise<void>;
  readonly discard: () => void;
  readonly keep: () => void;
}

export function useProjectDraft(project: Project): ProjectDraft {
  const { id } = project;
  const key = projectDraftKey(id);
  const { base } = savedIn(project);
  useEffect(() => openDraft(key, base, null), [key, base]);
  const draft = useDraft(key);
  const read = useOp("project_get", { project_id: id });
  const update = useOpMutation("project_update");
  const pause = useOpMutation("project_pause");
  const resume = useOpMutation("project_resume");
  const values = JSON.parse(draft?.text ?? base) as Edited;
  const before = JSON.parse(draft?.base ?? base) as Edited;
  const put = async (): Promise<Saved> => {
    const name = values.name.trim();
    const default_branch = values.default_branch.trim();
    const { work_mode, paused } = values;
    const change = {
      ...(name === before.name ? {} : { name }),
      ...(default_branch === before.default_branch ? {} : { default_branch }),
      ...(work_mode === before.work_mode ? {} : { work_mode }),
    };
    if (Object.keys(change).length > 0) await update.mutateAsync({ project_id: id, ...change });
    if (paused !== before.paused) {
      await (paused ? pause : resume).mutateAsync({ project_id: id });
    }
    return savedIn({ name, default_branch, work_mode, paused });
  };
  return {
    values,
    isChanged: draft !== undefined && isDirty(draft),
    isStale: draft?.isStale ?? false,
    isSaving: draft?.isSaving ?? false,
    error: update.error ?? pause.error ?? resume.error,
    set: (change) => {
      openDraft(key, base, null);
      editDraft(key, JSON.stringify({ ...values, ...change }), Object.keys(change).join());
    },
    save: () =>
      saveDraft(key, put, () =>
        read.refetch().then(({ data, isError }) => (data && !isError ? savedIn(data) : null)),
      ),
    discard: () => {
      update.reset();
      resetDraft(key, base, null);
    },
    keep: () => rebaseDraft(key, base, null),
  };
}
