import { useQuery } from "@tanstack/react-query";
import { call } from "#ui/api/client.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";

/** What the task's agent does right now: read by itself, so that the column is not read again. */
export function useActivity(id: string, read: string): string {
  const platform = usePlatform();
  const activity = useQuery({
    queryKey: ["activity", id],
    queryFn: async () => (await call(platform, "task_get", { task_id: id })).live?.activity ?? "",
    initialData: read,
    meta: { tags: [`activity:${id}`] },
  });
  return activity.data;
}
