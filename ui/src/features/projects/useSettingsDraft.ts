/**
 * A project's settings, and what the project is beside them, as they are edited on whichever page: one draft, saved as the
 * patch that it makes. The project's own values are under `project` in the draft.
 */
import { useEffect } from "react";
import type { Project, SettingsView } from "#ui/api/generated.ts";
import {
  drafts,
  editDraft,
  isDirty,
  openDraft,
  rebaseDraft,
  resetDraft,
  saveDraft,
  useDraft,
  type Put,
} from "#ui/draft/drafts.ts";
import { collide, editedOf, patchFrom, patched, pathsOf, textOf } from "./settingsDraft.ts";
import { isOwn } from "./settingsPath.ts";

export const settingsDraftKey = (projectId: string): string => `settings:${projectId}`;

export type Facts = Pick<Project, "name" | "default_branch" | "work_mode">;
type Change = { readonly [key: string]: unknown };

const factsOf = ({ name, default_branch, work_mode }: Facts): Facts => ({
  name,
  default_branch,
  work_mode,
});
const baseOf = (own: unknown, facts: Facts): string =>
  textOf({ ...editedOf(own), project: factsOf(facts) });
const treeOf = (text: string): Change & { readonly project: Facts } => JSON.parse(text);

/** The facts that are sent: without the spaces around them, and only those that differ. */
function sentFacts(before: Facts, now: Facts): Partial<Facts> {
  const { name, default_branch, work_mode } = now;
  return patchFrom(before, {
    name: name.trim(),
    default_branch: default_branch.trim(),
    work_mode,
  });
}

/** Takes what is written, and what led to it, as a change of something else than what it was begun from. */
function rebase(key: string, base: string): void {
  const draft = drafts.getState().drafts[key];
  if (!draft) return;
  const from = treeOf(draft.base);
  rebaseDraft(key, base, null, (text) =>
    textOf(patched(treeOf(base), patchFrom(from, treeOf(text)))),
  );
}

/** Tells what is saved now. What was changed elsewhere beside what is written here is taken over; the same place is asked about. */
function follow(key: string, base: string): void {
  const draft = drafts.getState().drafts[key];
  if (draft && isDirty(draft) && !draft.isSaving && draft.base !== base) {
    const from = treeOf(draft.base);
    const theirs = patchFrom(from, treeOf(base));
    if (!collide(patchFrom(from, treeOf(draft.text)), theirs)) rebase(key, base);
  }
  openDraft(key, base, null);
}

export interface SettingsDraft {
  /** The settings as they are written. */
  readonly view: SettingsView;
  /** What the project is beside its settings, as it is written. */
  readonly facts: Facts;
  /** The paths of what is written. */
  readonly changed: readonly string[];
  readonly isChanged: boolean;
  readonly isStale: boolean;
  readonly isSaving: boolean;
  readonly patch: (change: Change) => void;
  /** Whether it returns to the default when it is saved. */
  readonly isReset: (path: string) => boolean;
  readonly save: () => Promise<void>;
  readonly discard: () => void;
  readonly keep: () => void;
}

export interface SettingsDraftInput {
  readonly project: Project;
  readonly saved: SettingsView;
  readonly putSettings: (change: Change) => Promise<SettingsView>;
  readonly putFacts: (change: Partial<Facts>) => Promise<Project>;
  /** What is saved now; null when it cannot be read. */
  readonly reread: () => Promise<readonly [SettingsView, Project] | null>;
}

export function useSettingsDraft({
  project,
  saved,
  putSettings,
  putFacts,
  reread,
}: SettingsDraftInput): SettingsDraft {
  const key = settingsDraftKey(project.id);
  const base = baseOf(saved.own, project);
  useEffect(() => follow(key, base), [key, base]);
  const draft = useDraft(key);
  const text = draft?.text ?? base;
  const before = treeOf(draft?.base ?? base);
  const now = treeOf(text);
  const { project: _, ...written } = patchFrom(before, now);
  const view: SettingsView = {
    settings: patched(saved.settings, written) as SettingsView["settings"],
    own: patched(saved.own, written),
  };
  const put = async (): Promise<Put> => {
    const facts = sentFacts(before.project, now.project);
    const [settled, told] = await Promise.allSettled([
      Object.keys(written).length > 0 ? putSettings(written) : null,
      Object.keys(facts).length > 0 ? putFacts(facts) : null,
    ]);
    const isRefused = [settled, told].some(({ status }) => status === "rejected");
    const own = settled.status === "fulfilled" ? settled.value?.own : undefined;
    const changed = told.status === "fulfilled" ? told.value : null;
    if (isRefused && own === undefined && changed === null) throw new Error("nothing was saved");
    const saves = baseOf(own ?? before, changed ?? before.project);
    if (!isRefused) return { base: saves, version: null };
    const refused = settled.status === "rejected" ? written : { project: facts };
    return { base: saves, version: null, left: textOf(patched(treeOf(saves), refused)) };
  };
  return {
    view,
    facts: now.project,
    changed: pathsOf(patchFrom(before, now)),
    isChanged: draft !== undefined && isDirty(draft),
    isStale: draft?.isStale ?? false,
    isSaving: draft?.isSaving ?? false,
    patch: (change) => {
      openDraft(key, base, null);
      const written = drafts.getState().drafts[key]?.text ?? base;
      editDraft(key, textOf(patched(treeOf(written), change)), pathsOf(change).join());
    },
    isReset: (path) => isOwn(saved.own, path) && !isOwn(view.own, path),
    save: () =>
      saveDraft(key, put, () =>
        reread().then((read) => read && { base: baseOf(read[0].own, read[1]), version: null }),
      ),
    discard: () => resetDraft(key, base, null),
    keep: () => rebase(key, base),
  };
}
