/** Opens a task's worktree in what the person works with. */
import { FolderOpen, SquareCode, SquareTerminal } from "lucide-react";
import { useTranslation } from "react-i18next";
import { call } from "#ui/api/client.ts";
import type { Workspace } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import type { MenuEntry } from "#ui/components/Menu.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { t as translate } from "#ui/i18n/index.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import type { Platform } from "#ui/platform/types.ts";

const places = [
  { id: "editor", icon: <SquareCode />, how: (platform: Platform) => platform.openInEditor },
  {
    id: "terminal",
    icon: <SquareTerminal />,
    how: (platform: Platform) => platform.openInTerminal,
  },
  { id: "files", icon: <FolderOpen />, how: (platform: Platform) => platform.openPath },
] as const;

type Place = (typeof places)[number];

/** A worktree of a task, as it is recorded. */
export type PlaceOfTask = Pick<Workspace, "path" | "task_id" | "machine_id">;

/** Opens a worktree where it is worked on now; says what can be done where that cannot be opened. */
async function open(platform: Platform, { id, how }: Place, tree: PlaceOfTask): Promise<void> {
  const { there } =
    tree.machine_id == null
      ? { there: null }
      : await call(platform, "task_place", { task_id: tree.task_id });
  if (there === null) return how(platform)(tree.path);
  const { machine, destination, path } = there;
  if (id !== "editor") {
    const command = `ssh ${/:\d+$/.test(destination) ? `ssh://${destination}` : destination}`;
    const detail = translate(`task.elsewhere.${id}`, { machine, command });
    showToast({ tone: "info", title: translate("task.elsewhere.title", { machine }), detail });
    return undefined;
  }
  if (path === null) {
    const detail = translate("task.elsewhere.unreachableText");
    const title = translate("task.elsewhere.unreachable", { machine });
    showToast({ tone: "danger", title, detail });
    return undefined;
  }
  return platform.openInEditorThere(path, destination);
}

function openAt(platform: Platform, place: Place, tree: PlaceOfTask): void {
  open(platform, place, tree).catch((thrown: unknown) =>
    showToast({ tone: "danger", title: translate("task.openFailed"), detail: String(thrown) }),
  );
}

export function PlaceButtons({ tree }: { tree: PlaceOfTask }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  return places.map((place) => (
    <Button
      key={place.id}
      size="sm"
      icon={place.icon}
      onClick={() => openAt(platform, place, tree)}
    >
      {t(`workspace.${place.id}`)}
    </Button>
  ));
}

const labels = { editor: "openEditor", terminal: "openTerminal", files: "openFiles" } as const;

export function placeEntries(platform: Platform, tree: PlaceOfTask): MenuEntry[] {
  return places.map((place) => ({
    id: place.id,
    label: translate(`task.${labels[place.id]}`),
    icon: place.icon,
    onSelect: () => openAt(platform, place, tree),
  }));
}
