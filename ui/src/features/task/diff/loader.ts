/**
 * Reads changed files as they come near what is in sight, page by page.
 *
 * Invariants: only files that are near are followed, so that a change of the work reads those again
 * and no others; what was read stays until it is read anew, so that nothing loses its height.
 */
import { InfiniteQueryObserver, type InfiniteData, type QueryClient } from "@tanstack/react-query";
import { call } from "#ui/api/client.ts";
import { ApiError } from "#ui/api/error.ts";
import { tags, type DiffLine, type FileDiff, type Hunk, type Scope } from "#ui/api/generated.ts";
import type { Platform } from "#ui/platform/types.ts";
import { contextStart, withContext, type ContextLines } from "./context.ts";
import { diffRows, joinPages, longestLine, longLine, plainFrom, type DiffRow } from "./hunks.ts";
import { rowIndex, type RowIndex } from "./comments.ts";

export interface LoadedFile {
  readonly first: FileDiff;
  /** With the unchanged lines that were asked for. */
  readonly hunks: readonly Hunk[];
  readonly rows: readonly DiffRow[];
  readonly index: RowIndex;
  /** Everything that will be shown at once is here. */
  readonly ready: boolean;
  /** There is nothing more to come. */
  readonly complete: boolean;
  /** Rows that are not here yet. */
  readonly missing: number;
  /** Too large for colours. */
  readonly plain: boolean;
  readonly columns: number;
  /** The lines below the last hunk are known to be none. */
  readonly atEnd: boolean;
}

export interface FileState {
  readonly loaded: LoadedFile | null;
  readonly error: ApiError | null;
}

export type FileStates = ReadonlyMap<string, FileState>;

const pageRows = 2_000;
/** More than any file has lines: the whole of it is one hunk. */
const allLines = 10_000_000;
/** Unchanged lines that one step shows. */
export const stepLines = 20;

type Pages = InfiniteData<FileDiff, number>;
type Observer = InfiniteQueryObserver<FileDiff, ApiError, Pages, readonly unknown[], number>;

interface Followed {
  readonly observer: Observer;
  readonly stop: () => void;
}

interface Extra {
  readonly lines: ContextLines;
  readonly atEnd: boolean;
}

const noExtra: Extra = { lines: new Map(), atEnd: false };

function loadedOf({ pages }: Pages, extra: Extra): LoadedFile | null {
  const first = pages[0];
  const last = pages.at(-1);
  if (!first || !last) return null;
  const own = joinPages(pages);
  const hunks = extra.lines.size > 0 ? withContext(own, extra.lines) : own;
  const rows = diffRows(hunks);
  const small = first.total_rows <= plainFrom;
  const complete = last.next_start === null;
  const columns = longestLine(hunks);
  return {
    first,
    hunks,
    rows,
    index: rowIndex(rows),
    ready: !small || complete,
    complete,
    missing: Math.max(0, first.total_rows - (last.next_start ?? first.total_rows)),
    plain: !small || columns > longLine,
    columns,
    atEnd: extra.atEnd,
  };
}

export class DiffLoader {
  readonly #client: QueryClient;
  readonly #platform: Platform;
  readonly #taskId: string;
  readonly #scope: Scope;
  #states: FileStates = new Map();
  readonly #followed = new Map<string, Followed>();
  readonly #forced = new Set<string>();
  readonly #extras = new Map<string, Extra>();
  readonly #listeners = new Set<() => void>();

  constructor(client: QueryClient, platform: Platform, taskId: string, scope: Scope) {
    this.#client = client;
    this.#platform = platform;
    this.#taskId = taskId;
    this.#scope = scope;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly states = (): FileStates => this.#states;

  /** Follows these files and no others. */
  keepNear(paths: readonly string[]): void {
    const near = new Set(paths);
    for (const [path, { stop }] of this.#followed) {
      if (near.has(path)) continue;
      stop();
      this.#followed.delete(path);
    }
    for (const path of near) if (!this.#followed.has(path)) this.#follow(path);
  }

  /** Reads the next page of a file too large to be read at once. */
  more(path: string): void {
    const result = this.#followed.get(path)?.observer.getCurrentResult();
    if (result?.hasNextPage && !result.isFetching) void result.fetchNextPage();
  }

  retry(path: string): void {
    const result = this.#followed.get(path)?.observer.getCurrentResult();
    if (result?.isFetchNextPageError) void result.fetchNextPage();
    else void result?.refetch();
  }

  /** Reads a file that is not shown unasked for its size. */
  force(path: string): void {
    this.#forced.add(path);
    const followed = this.#followed.get(path);
    followed?.stop();
    this.#followed.delete(path);
    if (followed) this.#follow(path);
  }

  /** Reads all of a file, for those who look through it. */
  async whole(path: string, signal: AbortSignal): Promise<void> {
    const query = this.#query(path);
    await this.#client.fetchInfiniteQuery(query);
    const observer: Observer = new InfiniteQueryObserver(this.#client, query);
    const stop = observer.subscribe(() => {});
    try {
      while (!signal.aborted && observer.getCurrentResult().hasNextPage) {
        const result = await observer.fetchNextPage({ cancelRefetch: false });
        if (result.isFetchNextPageError) throw result.error;
      }
      this.#take(path, observer.getCurrentResult().data, null);
    } finally {
      stop();
    }
  }

  /** Shows unchanged lines, by their numbers in the new version; to the end of the file without `to`. */
  async expand(path: string, from: number, to: number | null): Promise<void> {
    const loaded = this.#states.get(path)?.loaded;
    if (!loaded) return;
    const found: DiffLine[] = [];
    const last = to ?? Number.POSITIVE_INFINITY;
    let start: number | null = contextStart(loaded.hunks, from);
    let ended = false;
    while (start !== null) {
      const wanted = Math.min(pageRows, last - from + 1 - found.length);
      const page: FileDiff = await this.#context(path, start, wanted);
      const lines = page.hunks.flatMap((hunk) => hunk.lines);
      for (const line of lines) {
        const at = line.new_no;
        if (line.kind === "context" && at !== null && at >= from && at <= last) found.push(line);
      }
      ended ||= page.next_start === null;
      const enough = lines.length === 0 || found.length >= last - from + 1;
      start = enough ? null : page.next_start;
    }
    const known = this.#extras.get(path) ?? noExtra;
    const lines = new Map(known.lines);
    for (const line of found) if (line.new_no !== null) lines.set(line.new_no, line);
    this.#extras.set(path, { lines, atEnd: known.atEnd || ended });
    this.#take(path, this.#taken.get(path)?.pages, null);
  }

  async #context(path: string, start: number, limit: number): Promise<FileDiff> {
    const input = {
      ...this.#input(path),
      start,
      limit: Math.max(1, limit),
      context: allLines,
    };
    return await this.#client.fetchQuery({
      queryKey: ["task_diff_file", "context", input],
      queryFn: () => call(this.#platform, "task_diff_file", input),
      meta: { tags: tags.task_diff_file?.(input) ?? [] },
    });
  }

  #input(path: string) {
    const force = this.#forced.has(path);
    return { task_id: this.#taskId, scope: this.#scope, path, ...(force ? { force } : {}) };
  }

  #query(path: string) {
    const input = { ...this.#input(path), limit: pageRows };
    return {
      queryKey: ["task_diff_file", "pages", input] as readonly unknown[],
      queryFn: ({ pageParam }: { pageParam: number }) =>
        call(this.#platform, "task_diff_file", { ...input, start: pageParam }),
      initialPageParam: 0,
      getNextPageParam: (page: FileDiff) => page.next_start,
      meta: { tags: tags.task_diff_file?.(input) ?? [] },
    };
  }

  #follow(path: string): void {
    const observer: Observer = new InfiniteQueryObserver(this.#client, this.#query(path));
    const look = () => {
      const { data, error, hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } =
        observer.getCurrentResult();
      const first = data?.pages[0];
      const small = first !== undefined && first.total_rows <= plainFrom;
      if (small && hasNextPage && !isFetching && !isFetchNextPageError) void fetchNextPage();
      this.#take(path, data, error ? ApiError.from(error) : null);
    };
    const stop = observer.subscribe(look);
    this.#followed.set(path, { observer, stop });
    look();
  }

  #taken = new Map<string, { readonly pages: Pages | undefined; readonly extra: Extra }>();

  #take(path: string, pages: Pages | undefined, error: ApiError | null): void {
    const known = this.#states.get(path);
    const before = this.#taken.get(path);
    // Other changes: what stood between them may be other lines, too.
    if (before?.pages && pages && before.pages !== pages && !grew(before.pages, pages)) {
      this.#extras.delete(path);
    }
    const extra = this.#extras.get(path) ?? noExtra;
    const isSame = before?.pages === pages && before?.extra === extra;
    if (known && isSame && known.error?.message === error?.message) return;
    this.#taken.set(path, { pages, extra });
    const loaded = isSame
      ? (known?.loaded ?? null)
      : pages
        ? loadedOf(pages, extra)
        : (known?.loaded ?? null);
    this.#states = new Map(this.#states).set(path, { loaded, error });
    for (const listener of this.#listeners) listener();
  }
}

/** The same pages, and perhaps more of them. */
function grew(before: Pages, after: Pages): boolean {
  return before.pages.every((page, at) => page === after.pages[at]);
}
