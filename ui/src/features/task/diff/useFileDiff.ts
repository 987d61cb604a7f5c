/** One changed file's rows: all of them up to a size, page by page beyond it. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { call } from "#ui/api/client.ts";
import { tags, type FileDiff, type Hunk, type Scope } from "#ui/api/generated.ts";
import { ApiError } from "#ui/api/error.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { joinPages, longestLine, longLine, plainFrom } from "./hunks.ts";

export interface LoadedDiff {
  readonly first: FileDiff | undefined;
  readonly hunks: readonly Hunk[];
  /** Everything that will be shown at once is here. */
  readonly ready: boolean;
  /** Too large for colours and two columns. */
  readonly plain: boolean;
  readonly columns: number;
  readonly error: ApiError | null;
  readonly retry: () => void;
  readonly more: (() => void) | undefined;
  /** There is nothing more to come. */
  readonly complete: boolean;
}

const pageRows = 2_000;

export function useFileDiff(
  taskId: string,
  scope: Scope,
  path: string,
  { force, enabled }: { force: boolean; enabled: boolean },
): LoadedDiff {
  const platform = usePlatform();
  const input = { task_id: taskId, scope, path, limit: pageRows, ...(force ? { force } : {}) };
  const query = useInfiniteQuery({
    queryKey: ["task_diff_file", "pages", input],
    queryFn: ({ pageParam }) => call(platform, "task_diff_file", { ...input, start: pageParam }),
    initialPageParam: 0,
    getNextPageParam: (page: FileDiff) => page.next_start,
    meta: { tags: tags.task_diff_file?.(input) ?? [] },
    enabled,
  });
  const { data, hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = query;
  const first = data?.pages[0];
  const small = (first?.total_rows ?? 0) <= plainFrom;
  const loaded = data?.pages.length ?? 0;
  const wantsMore = small && hasNextPage && !isFetching && !isFetchNextPageError;
  useEffect(() => {
    // Said once per page: a quick host answers before "fetching" was ever drawn.
    if (wantsMore && loaded > 0) void fetchNextPage();
  }, [wantsMore, loaded, fetchNextPage]);

  const hunks = useMemo(() => joinPages(data?.pages ?? []), [data]);
  const columns = useMemo(() => longestLine(hunks), [hunks]);
  return {
    first,
    hunks,
    ready: first !== undefined && (!small || !hasNextPage),
    plain: !small || columns > longLine,
    columns,
    error: query.error ? ApiError.from(query.error) : null,
    retry: () => void (isFetchNextPageError ? fetchNextPage() : query.refetch()),
    complete: first !== undefined && !hasNextPage,
    more: !small && hasNextPage && !isFetching ? () => void fetchNextPage() : undefined,
  };
}
