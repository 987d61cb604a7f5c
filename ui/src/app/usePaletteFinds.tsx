/** What the palette finds besides commands: projects by name, tasks of the project in view by text. */
import { FolderGit2 } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task } from "#ui/api/generated.ts";
import type { PaletteGroup } from "#ui/components/CommandPalette.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { useOverlay } from "#ui/store/overlays.ts";
import type { ProjectEntry } from "./Sidebar.tsx";
import { navigate } from "./router.ts";
import { glyphOf } from "#ui/domain/stateKinds.ts";
import { useStates } from "#ui/domain/useStates.ts";

const shownTasks = 12;

export function usePaletteFinds(projects: readonly ProjectEntry[], project: string | null) {
  const { t } = useTranslation();
  const open = useOverlay() === "palette";
  const [typed, setTyped] = useState("");
  const query = useDeferredValue(typed.trim());
  const tasks = useOp(
    "task_list",
    { project_id: project ?? "", q: query || null, limit: shownTasks },
    { enabled: open && project !== null, keepPrevious: true },
  ).data?.items;
  const states = useStates(open ? project : null);
  const name = projects.find(({ id }) => id === project)?.name ?? "";
  const groups: PaletteGroup[] = [];
  if (open && tasks && tasks.length > 0) {
    groups.push({
      value: t("palette.tasks"),
      items: tasks.map((task: Task) => ({
        id: `task.${task.id}`,
        label: task.title,
        // The engine also searches descriptions: what it found must pass the palette's own filter.
        keywords: `#${task.number} ${typed}`,
        detail: `${name} #${task.number}`,
        icon: <StateGlyph kind={glyphOf(task, states.get(task.status))} label="" />,
        run: () => navigate("board", { project: task.project_id }, { task: String(task.number) }),
      })),
    });
  }
  if (open && projects.length > 0) {
    groups.push({
      value: t("palette.projects"),
      items: projects.map(({ id, name: label }) => ({
        id: `project.${id}`,
        label,
        icon: <FolderGit2 />,
        run: () => navigate("board", { project: id }),
      })),
    });
  }
  return { groups, onSearch: setTyped };
}
