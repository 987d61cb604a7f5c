/**
 * The typed way to the engine, made from the contract's generated `Operations` interface.
 *
 * `createOperations` is called once, in `api/client.ts`, with the generated types and the tag
 * table; screens use the hooks that it returns and never name the platform.
 */
import {
  QueryClient,
  keepPreviousData,
  queryOptions,
  useInfiniteQuery,
  useMutation,
  useQuery,
  type InfiniteData,
  type UseInfiniteQueryResult,
  type UseMutationResult,
  type UseQueryResult,
} from "@tanstack/react-query";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import type { Platform } from "#ui/platform/types.ts";
import { ApiError } from "./error.ts";

type AnyOperations<Ops> = { [Op in keyof Ops]: { input: unknown; output: unknown } };
type Name<Ops> = Extract<keyof Ops, string>;

/** The cache tags an answer carries, by operation; an operation without an entry is never reread. */
export type TagTable<Ops extends AnyOperations<Ops>> = {
  readonly [Op in keyof Ops]?: (input: Ops[Op]["input"]) => readonly string[];
};

/** An operation whose answer is a page that says where the next one begins. */
type Paged<Item> = { readonly items: Item[]; readonly next_cursor: string | null };
type ItemOf<Output> = Output extends Paged<infer Item> ? Item : never;

export interface OpOptions<Output = unknown> {
  /** False keeps the query from running, e.g. while its input is not known. */
  readonly enabled?: boolean;
  /** Shows the last answer while the one for a new input is on its way. */
  readonly keepPrevious?: boolean;
  /** Changes that make the answer stale besides those that the contract tells from its input. */
  readonly tags?: readonly string[];
  /** Reads again whenever a part that shows it appears: no change tells of what is outside the engine. */
  readonly fresh?: boolean;
  /** Reads again so often while it is in sight, as its last answer says; no change tells of what is elsewhere. */
  readonly everyMs?: (answer: Output | undefined) => number | false;
}

export interface OpMutationOptions<Input, Output> {
  readonly onSuccess?: (output: Output, input: Input) => void;
  readonly onError?: (error: ApiError, input: Input) => void;
}

/** Answers stay fresh until a change says otherwise; the host is local, so no retry, no "offline". */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: Number.POSITIVE_INFINITY,
        gcTime: 5 * 60_000,
        retry: false,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        networkMode: "always",
      },
      mutations: { retry: false, networkMode: "always" },
    },
  });
}

function joinPages<Item>(data: InfiniteData<Paged<Item>>): Item[] {
  return data.pages.flatMap((page) => page.items);
}

export function createOperations<Ops extends AnyOperations<Ops>>(tags: TagTable<Ops>) {
  async function call<Op extends Name<Ops>>(
    platform: Platform,
    op: Op,
    input: Ops[Op]["input"],
  ): Promise<Ops[Op]["output"]> {
    try {
      return (await platform.call(op, input)) as Ops[Op]["output"];
    } catch (thrown) {
      throw ApiError.from(thrown);
    }
  }

  /** The query of one operation: for hooks here, and for prefetching by its key. */
  function opQuery<Op extends Name<Ops>>(platform: Platform, op: Op, input: Ops[Op]["input"]) {
    return queryOptions<Ops[Op]["output"], ApiError>({
      queryKey: [op, input],
      queryFn: () => call(platform, op, input),
      meta: { tags: tags[op]?.(input) ?? [] },
    });
  }

  function useOp<Op extends Name<Ops>>(
    op: Op,
    input: Ops[Op]["input"],
    options: OpOptions<Ops[Op]["output"]> = {},
  ): UseQueryResult<Ops[Op]["output"], ApiError> {
    const platform = usePlatform();
    const query = opQuery(platform, op, input);
    const { everyMs } = options;
    return useQuery({
      ...query,
      ...(options.tags ? { meta: { tags: [...(tags[op]?.(input) ?? []), ...options.tags] } } : {}),
      enabled: options.enabled ?? true,
      ...(options.keepPrevious ? { placeholderData: keepPreviousData } : {}),
      ...(options.fresh ? { refetchOnMount: "always" as const } : {}),
      ...(everyMs
        ? {
            refetchInterval: ({ state }: { state: { data: Ops[Op]["output"] | undefined } }) =>
              everyMs(state.data),
            refetchIntervalInBackground: false,
          }
        : {}),
    });
  }

  /** All pages read so far as one list; asks for the next with `fetchNextPage`. */
  function useOpPages<Op extends Name<Ops>>(
    op: Op,
    input: Ops[Op]["input"],
    options: OpOptions = {},
  ): UseInfiniteQueryResult<ItemOf<Ops[Op]["output"]>[], ApiError> {
    type Page = Paged<ItemOf<Ops[Op]["output"]>>;
    const platform = usePlatform();
    return useInfiniteQuery({
      queryKey: [op, "pages", input],
      queryFn: async ({ pageParam }) =>
        (await call(platform, op, {
          ...(input as object),
          ...(pageParam === null ? {} : { cursor: pageParam }),
        })) as Page,
      initialPageParam: null as string | null,
      getNextPageParam: (page: Page) => page.next_cursor,
      select: joinPages,
      meta: { tags: tags[op]?.(input) ?? [] },
      enabled: options.enabled ?? true,
      ...(options.keepPrevious ? { placeholderData: keepPreviousData } : {}),
    });
  }

  function useOpMutation<Op extends Name<Ops>>(
    op: Op,
    options: OpMutationOptions<Ops[Op]["input"], Ops[Op]["output"]> = {},
  ): UseMutationResult<Ops[Op]["output"], ApiError, Ops[Op]["input"]> {
    const platform = usePlatform();
    return useMutation<Ops[Op]["output"], ApiError, Ops[Op]["input"]>({
      mutationKey: [op],
      mutationFn: (input) => call(platform, op, input),
      ...(options.onSuccess ? { onSuccess: options.onSuccess } : {}),
      ...(options.onError ? { onError: options.onError } : {}),
    });
  }

  return { call, opQuery, useOp, useOpPages, useOpMutation };
}
