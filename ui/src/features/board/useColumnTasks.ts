import { useEffect, useMemo } from "react";
import { useOp, useOpPages } from "#ui/api/client.ts";
import type { Column, Task } from "#ui/api/generated.ts";
import { agentOf } from "./format.ts";
import { askedMachine, isOn, type BoardFilter } from "./filter.ts";
import { useBoardModel } from "./model.ts";

const pageSize = 50;
const none: readonly Task[] = [];

/** A column's tasks, page by page; all pages where what is asked for is not the engine's order. */
export function useColumnTasks(column: Column, filter: BoardFilter) {
  const { projectId } = useBoardModel();
  const workRole = useOp("project_workflow_get", { project_id: projectId }).data?.work_role ?? null;
  const status =
    filter.states.length > 0
      ? column.states.filter((state) => filter.states.includes(state))
      : column.states;
  const pages = useOpPages(
    "task_list",
    {
      project_id: projectId,
      status,
      q: filter.text || null,
      machine: askedMachine(filter),
      limit: pageSize,
    },
    { enabled: status.length > 0, keepPrevious: true },
  );
  const { data = none, hasNextPage, isFetchingNextPage, fetchNextPage } = pages;
  const { agents, machines } = filter;
  const tasks = useMemo(
    () =>
      agents.length === 0 && machines.length === 0
        ? data
        : data.filter(
            (task) =>
              isOn(task, machines) &&
              (agents.length === 0 || agents.includes(agentOf(task, workRole) ?? "")),
          ),
    [data, agents, machines, workRole],
  );
  const wantsAll = agents.length > 0 || machines.length > 1 || filter.group !== "none";
  useEffect(() => {
    if (wantsAll && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [wantsAll, hasNextPage, isFetchingNextPage, fetchNextPage]);
  const more = useMemo(
    () => (hasNextPage && !isFetchingNextPage ? () => void fetchNextPage() : null),
    [hasNextPage, isFetchingNextPage, fetchNextPage],
  );
  return {
    tasks,
    more,
    error: pages.error,
    loading: pages.isLoading,
    retry: () => void pages.refetch(),
  };
}
