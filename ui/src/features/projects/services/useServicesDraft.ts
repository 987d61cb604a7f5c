/** The project's services as they are edited: a draft that outlives the screen, saved as one list. */
import { useEffect, useState } from "react";
import { findingsOf } from "#ui/api/findings.ts";
import type { Finding, ServiceDefinition, SettingsView } from "#ui/api/generated.ts";
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
import { getAt, parsePath } from "#ui/draft/path.ts";
import { useSettings } from "../settingsContext.ts";
import { patchAt, valueAt } from "../settingsPath.ts";
import { definitionOf, formsIn, textOf, type ServiceForm } from "./form.ts";

export const settingsKey = "services";
export const draftKey = (projectId: string): string => `services:${projectId}`;

const root = (services: unknown) => ({ [settingsKey]: services });

const savedIn = ({ own }: SettingsView): Saved => ({
  base: textOf((valueAt(own, settingsKey) ?? []) as readonly ServiceDefinition[]),
  version: null,
});

/** Findings that speak of what is still as it was sent. */
function standing(
  found: readonly Finding[],
  sent: readonly ServiceDefinition[] | null,
  now: readonly ServiceDefinition[],
): readonly Finding[] {
  if (sent === null) return [];
  return found.filter(({ path }) => {
    const place = parsePath(path);
    return JSON.stringify(getAt(root(sent), place)) === JSON.stringify(getAt(root(now), place));
  });
}

export interface ServicesDraft {
  readonly forms: readonly ServiceForm[];
  readonly findings: readonly Finding[];
  readonly isChanged: boolean;
  /** Other services were saved since this draft was begun. */
  readonly isStale: boolean;
  readonly isSaving: boolean;
  /** Edits of one group in a row are undone together. */
  readonly edit: (next: readonly ServiceForm[], group?: string) => void;
  readonly save: () => void;
  readonly discard: () => void;
  readonly keep: () => void;
}

export function useServicesDraft(projectId: string): ServicesDraft | null {
  const { saved: view, error, save, reread } = useSettings();
  const key = draftKey(projectId);
  const saved = savedIn(view).base;
  useEffect(() => openDraft(key, saved, null), [key, saved]);
  const draft = useDraft(key);
  const [sent, setSent] = useState<readonly ServiceDefinition[] | null>(null);
  if (!draft) return null;
  const forms = formsIn(draft.text);
  const now = forms.map(definitionOf);
  return {
    forms,
    findings: standing(findingsOf(error), sent, now),
    isChanged: isDirty(draft),
    isStale: draft.isStale,
    isSaving: draft.isSaving,
    edit: (next, group) => editDraft(key, JSON.stringify(next), group ?? null),
    save: () => {
      setSent(now);
      void saveDraft(
        key,
        () => save(patchAt(settingsKey, now.length > 0 ? now : null)).then(savedIn),
        () => reread().then((read) => read && savedIn(read)),
      );
    },
    discard: () => resetDraft(key, saved, null),
    keep: () => rebaseDraft(key, saved, null),
  };
}
