/** Lines that an output names, as links to them in the Diff tab. */
import { useOp } from "#ui/api/client.ts";
import { useRoute } from "#ui/app/router.ts";
import type { TextLink } from "#ui/components/textLinks.ts";
import { placesNamed } from "./diff/problems.ts";
import { useDiffHref } from "./diffPlace.ts";

/** Finds them in a text without colours; undefined where there is no diff to lead to. */
export function useOutputLinks(
  taskId: string,
): ((text: string) => readonly TextLink[]) | undefined {
  const route = useRoute();
  const hrefOf = useDiffHref();
  const isShown = route.name === "home" || route.name === "board" || route.name === "task";
  const files = useOp("task_diff", { task_id: taskId, scope: "task" }, { enabled: isShown }).data
    ?.files;
  if (!isShown || !files || files.length === 0) return undefined;
  return (text) =>
    placesNamed(text, files).map(({ from, to, path, line }) => ({
      from,
      to,
      href: hrefOf({ file: path, line }),
    }));
}
