/** A project's settings as they are edited, on whichever of its pages: one draft, saved as the patch that it makes. */
import { useEffect } from "react";
import type { SettingsView } from "#ui/api/generated.ts";
import {
  drafts,
  editDraft,
  isDirty,
  openDraft,
  rebaseDraft,
  resetDraft,
  saveDraft,
  useDraft,
  type Saved,
} from "#ui/draft/drafts.ts";
import { collide, editedOf, patchFrom, patched, textOf } from "./settingsDraft.ts";
import { isOwn } from "./settingsPath.ts";

export const settingsDraftKey = (projectId: string): string => `settings:${projectId}`;

const savedIn = ({ own }: SettingsView): Saved => ({ base: textOf(editedOf(own)), version: null });
const treeOf = (text: string): unknown => JSON.parse(text) as unknown;

/** What is written, as a change of something else than what it was begun from. */
function rebase(key: string, base: string): void {
  const draft = drafts.getState().drafts[key];
  if (!draft) return;
  const mine = patchFrom(treeOf(draft.base), treeOf(draft.text));
  rebaseDraft(key, base, null);
  editDraft(key, textOf(patched(treeOf(base), mine)));
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
  readonly isChanged: boolean;
  readonly isStale: boolean;
  readonly isSaving: boolean;
  readonly patch: (change: { readonly [key: string]: unknown }) => void;
  /** Whether it returns to the default when it is saved. */
  readonly isReset: (path: string) => boolean;
  readonly save: () => Promise<void>;
  readonly discard: () => void;
  readonly keep: () => void;
}

export interface SettingsDraftInput {
  readonly projectId: string;
  readonly saved: SettingsView;
  readonly put: (change: { readonly [key: string]: unknown }) => Promise<SettingsView>;
  readonly reread: () => Promise<SettingsView | null>;
}

export function useSettingsDraft({
  projectId,
  saved,
  put,
  reread,
}: SettingsDraftInput): SettingsDraft {
  const key = settingsDraftKey(projectId);
  const { base } = savedIn(saved);
  useEffect(() => follow(key, base), [key, base]);
  const draft = useDraft(key);
  const text = draft?.text ?? base;
  const written = patchFrom(treeOf(draft?.base ?? base), treeOf(text));
  const view: SettingsView = {
    settings: patched(saved.settings, written) as SettingsView["settings"],
    own: patched(saved.own, written),
  };
  return {
    view,
    isChanged: draft !== undefined && isDirty(draft),
    isStale: draft?.isStale ?? false,
    isSaving: draft?.isSaving ?? false,
    patch: (change) => {
      openDraft(key, base, null);
      const now = drafts.getState().drafts[key]?.text ?? base;
      editDraft(key, textOf(patched(treeOf(now), change)), Object.keys(change).join());
    },
    isReset: (path) => isOwn(saved.own, path) && !isOwn(view.own, path),
    save: () =>
      saveDraft(
        key,
        () => put(written).then(savedIn),
        () => reread().then((read) => read && savedIn(read)),
      ),
    discard: () => resetDraft(key, base, null),
    keep: () => rebase(key, base),
  };
}
