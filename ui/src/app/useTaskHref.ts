/** Where a link to another task leads: beside the board while one looks at its board, else to its page. */
import { formatRoute, useRoute } from "./router.ts";

export function useTaskHref(): (project: string, number: number) => string {
  const route = useRoute();
  return (project, number) =>
    route.name === "board" && route.params.project === project
      ? formatRoute("board", { project }, { ...route.query, task: String(number) })
      : formatRoute("task", { project, number: String(number) });
}
