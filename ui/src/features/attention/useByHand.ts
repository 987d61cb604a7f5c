/**
 * Tasks in states where nothing happens by itself, of all projects: somebody moves them on. The engine does not count
 * them among those that need the person, since only the project knows what is done in a state of its own.
 */
import { useQueries } from "@tanstack/react-query";
import { opQuery, useOp } from "#ui/api/client.ts";
import type { Task, WorkflowView } from "#ui/api/generated.ts";
import { isByHand } from "#ui/domain/steps.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { attentionLimit } from "./limit.ts";
import { awaitsStep } from "./quick.ts";

export interface ByHand {
  readonly tasks: readonly Task[];
  readonly error: Error | null;
  readonly isRead: boolean;
  readonly refetch: () => void;
}

const namesIn = ({ workflow }: WorkflowView): string[] =>
  workflow.states.filter(isByHand).map(({ name }) => name);

export function useByHand(): ByHand {
  const platform = usePlatform();
  const projects = useOp("project_list", {});
  const ids = projects.data?.items.map(({ id }) => id) ?? [];
  const views = useQueries({
    queries: ids.map((id) => opQuery(platform, "project_workflow_get", { project_id: id })),
  });
  const wanted = views.flatMap(({ data }, index) => {
    const status = data ? namesIn(data) : [];
    return data && status.length > 0 ? [{ id: ids[index] ?? "", view: data, status }] : [];
  });
  const lists = useQueries({
    queries: wanted.map(({ id, status }) =>
      opQuery(platform, "task_list", { project_id: id, status, limit: attentionLimit }),
    ),
  });
  const all = [projects, ...views, ...lists];
  return {
    tasks: lists.flatMap(({ data }, index) =>
      (data?.items ?? []).filter((task) =>
        awaitsStep(
          task,
          wanted[index]?.view.workflow.states.find(({ name }) => name === task.status),
        ),
      ),
    ),
    error: all.find(({ error }) => error !== null)?.error ?? null,
    isRead: all.every(({ data }) => data !== undefined),
    refetch: () => {
      for (const query of all) if (query.error) void query.refetch();
    },
  };
}
