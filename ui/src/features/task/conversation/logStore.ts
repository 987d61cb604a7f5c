/**
 * Reads logs page by page and keeps what was read, for as long as the panel is open.
 *
 * `follow` brings a log's end up to date (only what comes after the last entry seen is asked for);
 * `earlier` reads what stands before the first. Both may run at once and repeatedly: pages carry
 * their numbers, so whatever arrives twice is dropped.
 */
import { createStore, type StoreApi } from "zustand/vanilla";
import type { LogPage } from "#ui/api/generated.ts";
import { addPage, farBehind, type Stretch, type Stretches } from "./conversation.ts";

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
}

let made = 0;

export function createLogStore(read: ReadPage): LogStore {
  const state = createStore<Stretches>(() => new Map());
  const put = (log: string, stretch: Stretch) =>
    state.setState(new Map(state.getState()).set(log, stretch), true);
  const add = (log: string, page: LogPage) => put(log, addPage(state.getState().get(log), page));

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
        const last = page.last_seq ?? 0;
        if (last <= after || last >= (page.total ?? 0)) return Math.max(after, last);
      }
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
