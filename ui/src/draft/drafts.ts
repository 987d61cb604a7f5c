/**
 * What a person has written and not saved: one JSON text that every view shows in its own way.
 *
 * Invariants: the text is the draft, values are read from it; a draft outlives the screen and the
 * window (only what differs from what is saved is kept); what changes underneath is never merged in
 * silently: the draft stays, `isStale` says so, and saving is where it is settled.
 */
import { useStore } from "zustand";
import { persist } from "zustand/middleware";
import { createStore } from "zustand/vanilla";

export interface Draft {
  /** The text as it is saved. */
  readonly base: string;
  /** The version that the base was read at. */
  readonly version: number | null;
  readonly text: string;
  readonly past: readonly string[];
  readonly future: readonly string[];
  /** Edits of one group in a row are undone together. */
  readonly group: string | null;
  /** Something else was saved since the base was read. */
  readonly isStale: boolean;
  /** It is being saved: what is read meanwhile may be its own, and is not judged. */
  readonly isSaving: boolean;
}

/** What is saved, as a draft would say it. */
export interface Saved {
  readonly base: string;
  readonly version: number | null;
}

/** What a save answers. */
export interface Put extends Saved {
  /** The text that remains to be saved, where only a part of what was written was saved. */
  readonly left?: string;
}

type Drafts = Readonly<Record<string, Draft>>;

const kept = 200;

export const drafts = createStore<{ readonly drafts: Drafts }>()(
  persist((): { readonly drafts: Drafts } => ({ drafts: {} }), {
    name: "forge.drafts",
    version: 1,
    partialize: (state) => ({
      drafts: Object.fromEntries(
        Object.entries(state.drafts)
          .filter(([, draft]) => isDirty(draft))
          .map(([key, draft]) => [
            key,
            { ...draft, past: [], future: [], group: null, isSaving: false },
          ]),
      ),
    }),
  }),
);

export const isDirty = (draft: Draft): boolean => draft.text !== draft.base;

const fresh = (base: string, version: number | null): Draft => ({
  base,
  version,
  text: base,
  past: [],
  future: [],
  group: null,
  isStale: false,
  isSaving: false,
});

function update(key: string, change: (draft: Draft) => Draft): void {
  drafts.setState((state) => {
    const draft = state.drafts[key];
    const next = draft && change(draft);
    return next && next !== draft ? { drafts: { ...state.drafts, [key]: next } } : state;
  });
}

/** Tells what is saved now. An untouched draft follows; a touched one is kept. */
export function openDraft(key: string, base: string, version: number | null): void {
  drafts.setState((state) => {
    const draft = state.drafts[key];
    if (!draft) return { drafts: { ...state.drafts, [key]: fresh(base, version) } };
    if (draft.isSaving) return state;
    if (draft.base === base) {
      if (draft.version === version && !draft.isStale) return state;
      return { drafts: { ...state.drafts, [key]: { ...draft, version, isStale: false } } };
    }
    // What is saved elsewhere became what was written here.
    if (!isDirty(draft) || draft.text === base)
      return { drafts: { ...state.drafts, [key]: fresh(base, version) } };
    if (draft.isStale) return state;
    return { drafts: { ...state.drafts, [key]: { ...draft, isStale: true } } };
  });
}

/** Starts anew from what is saved, whatever was written. */
export function resetDraft(key: string, base: string, version: number | null): void {
  drafts.setState((state) => ({ drafts: { ...state.drafts, [key]: fresh(base, version) } }));
}

/** Forgets the draft, with whatever was written. */
export function dropDraft(key: string): void {
  drafts.setState((state) => {
    const { [key]: _, ...others } = state.drafts;
    return { drafts: others };
  });
}

/**
 * Keeps what is written and takes it as a change of what is saved now. `carry` makes a text of the old base one of the new
 * base; without it, the texts stay as they are.
 */
export function rebaseDraft(
  key: string,
  base: string,
  version: number | null,
  carry: (text: string) => string = (text) => text,
): void {
  update(key, (draft) => ({
    ...draft,
    base,
    version,
    text: carry(draft.text),
    past: draft.past.map(carry),
    future: draft.future.map(carry),
    isStale: false,
  }));
}

/**
 * Saves what is written: `put` does it and answers what is saved then, `read` reads what is saved now. What was saved is
 * the new base, and what was typed meanwhile is kept as a change of it. A stale draft is not saved, and nothing twice
 * at a time. A refusal of `put` is for its caller to show.
 */
export async function saveDraft(
  key: string,
  put: () => Promise<Put>,
  read: () => Promise<Saved | null>,
): Promise<void> {
  const sent = drafts.getState().drafts[key];
  if (!sent || sent.isStale || sent.isSaving) return;
  update(key, (draft) => ({ ...draft, isSaving: true }));
  const saved = await put().catch(() => null);
  // Read after the answer: what was read before it may be older than what was saved.
  const now = await read().catch(() => null);
  update(key, (draft) => {
    if (saved === null) return { ...draft, isSaving: false };
    const { base, version, left } = saved;
    if (draft.text === sent.text && left === undefined) return fresh(base, version);
    if (draft.text === sent.text && left !== undefined)
      return { ...draft, base, version, text: left, isStale: false, isSaving: false };
    return { ...draft, base, version, isStale: false, isSaving: false };
  });
  if (now) openDraft(key, now.base, now.version);
}

export function editDraft(key: string, text: string, group: string | null = null): void {
  update(key, (draft) => {
    if (text === draft.text) return draft;
    const joins = group !== null && group === draft.group;
    return {
      ...draft,
      text,
      group,
      past: joins ? draft.past : [...draft.past, draft.text].slice(-kept),
      future: [],
    };
  });
}

/** What was typed into a field over `base`, its draft begun where there is none. */
export function writeDraft(key: string, base: string, text: string): void {
  openDraft(key, base, null);
  editDraft(key, text, key);
}

export function undoDraft(key: string): void {
  update(key, (draft) => {
    const text = draft.past.at(-1);
    if (text === undefined) return draft;
    return {
      ...draft,
      text,
      group: null,
      past: draft.past.slice(0, -1),
      future: [draft.text, ...draft.future],
    };
  });
}

export function redoDraft(key: string): void {
  update(key, (draft) => {
    const [text, ...future] = draft.future;
    if (text === undefined) return draft;
    return { ...draft, text, group: null, past: [...draft.past, draft.text], future };
  });
}

export function useDraft(key: string): Draft | undefined {
  return useStore(drafts, (state) => state.drafts[key]);
}

export function useIsDirty(key: string): boolean {
  return useStore(drafts, (state) => {
    const draft = state.drafts[key];
    return draft !== undefined && isDirty(draft);
  });
}
