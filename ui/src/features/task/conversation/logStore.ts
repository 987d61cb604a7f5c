/**
 * Reads logs page by page and keeps what was read, for as long as the panel is open.
 *
 * `follow` brings a log's end up to date (only what comes after the last entry seen is asked for);
 * `earlier` reads what stands before the first. Both may run at once and repeatedly: pages carry
 * their numbers, so whatever arrives twice is dropped.
 *
 * While a log's end is read (`reading`), what is far above it is let go: a run that is watched for hours costs no more per
 * entry than a short one. Whoever reads back has it read again.
 */
import { createStore, type StoreApi } from "zustand/vanilla";
import type { LogPage } from "#ui/api/generated.ts";
import { addPage, endOf, farBehind, type Stretch, type Stretches } from "./conversation.ts";

export const pageLength = 200;

export interface PageRequest {
  readonly after?: number;
  readonly before?: number;
  readonly limit: number;
}

export type ReadPage = (log: string, request: PageRequest) => Promise<LogPage>;

export interface LogStore {
  /** Tells one store from another in query keys. */
  readonly id: number;
  readonly state: StoreApi<Stretches>;
  /** Answers the number of the last entry. */
  follow(log: string): Promise<number>;
  earlier(log: string, before: number | null): Promise<void>;
  /** The newest log, while its end is in sight; null while something else is read. */
  reading(log: string | null): void;
}

let made = 0;

export function createLogStore(read: ReadPage): LogStore {
  const state = createStore<Stretches>(() => new Map());
  const put = (log: string, stretch: Stretch) =>
    state.setState(new Map(state.getState()).set(log, stretch), true);
  const add = (log: string, page: LogPage) => put(log, addPage(state.getState().get(log), page));

  let inSight: string | null = null;
  /** Everything before the kept end goes: the conversation has no gaps. */
  const letGo = (log: string) => {
    const stretch = state.getState().get(log);
    const end = stretch && log === inSight ? endOf(stretch) : stretch;
    if (end && end !== stretch) state.setState(new Map([[log, end]]), true);
  };

  made += 1;
  return {
    id: made,
    state,
    async follow(log) {
      if (!state.getState().has(log)) add(log, await read(log, { limit: pageLength }));
      for (;;) {
        const after = state.getState().get(log)?.last ?? 0;
        const page = await read(log, { after, limit: pageLength });
        if (page.entries.length === 0) return after;
        if ((page.total ?? 0) - after > farBehind) {
          put(log, addPage(undefined, await read(log, { limit: pageLength })));
          continue;
        }
        add(log, page);
        letGo(log);
        const last = page.last_seq ?? 0;
        if (last <= after || last >= (page.total ?? 0)) return Math.max(after, last);
      }
    },
    reading(log) {
      inSight = log;
    },
    async earlier(log, before) {
      const page = await read(log, {
        ...(before === null ? {} : { before }),
        limit: pageLength,
      });
      add(log, page);
    },
  };
}
