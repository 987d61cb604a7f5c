/** Issues of the project's code host. They are outside the engine: nothing is kept of a list that is not shown. */
import { useInfiniteQuery, type InfiniteData } from "@tanstack/react-query";
import { call } from "#ui/api/client.ts";
import type { ApiError } from "#ui/api/error.ts";
import { tags, type IssueListing } from "#ui/api/generated.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { listInput, withoutRepeats, type Search } from "./search.ts";

export function useIssueList(projectId: string, search: Search, enabled: boolean) {
  const platform = usePlatform();
  const input = listInput(projectId, search);
  const query = useInfiniteQuery<
    IssueListing,
    ApiError,
    InfiniteData<IssueListing, number>,
    readonly unknown[],
    number
  >({
    queryKey: ["issue_list", "pages", input],
    queryFn: ({ pageParam }) => call(platform, "issue_list", { ...input, page: pageParam }),
    initialPageParam: 1,
    getNextPageParam: ({ next_page: next }) => next,
    meta: { tags: tags.issue_list?.(input) ?? [] },
    enabled,
    gcTime: 0,
  });
  const pages = query.data?.pages;
  return {
    source: pages?.[0]?.source ?? null,
    items: pages ? withoutRepeats(pages.flatMap(({ items }) => items)) : null,
    error: query.error,
    /** Null when all are here. */
    more: query.hasNextPage ? () => void query.fetchNextPage() : null,
    isLoadingMore: query.isFetchingNextPage,
    /** Asks again for what is shown. */
    refresh: () => void query.refetch(),
  };
}

export type IssueList = ReturnType<typeof useIssueList>;
