/** Opens a task's worktree in what the person works with. */
import { FolderOpen, SquareCode, SquareTerminal } from "lucide-react";
import { useTranslation } from "react-i18next";
import { call } from "#ui/api/client.ts";
import type { Workspace } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import type { MenuEntry } from "#ui/components/Menu.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { engineHost } from "#ui/domain/engine/engine.ts";
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
const [editor] = places;

/** A worktree of a task, as it is recorded. */
export type PlaceOfTask = Pick<Workspace, "path" | "task_id" | "machine_id">;

/** Opens a worktree on the computer of a remote engine, which only editors can. */
async function openOn(
  platform: Platform,
  id: Place["id"],
  host: string,
  { path, line }: { readonly path: string; readonly line: number | null },
  machine: string | undefined,
): Promise<void> {
  const command = `ssh ${host}`;
  if (id === "editor" && machine === undefined) {
    return platform.openInEditorThere(path, host.replace(/^ssh:\/\//, ""), line);
  }
  const detail =
    machine !== undefined
      ? translate("engine.viaText", { machine, host, command })
      : id === "terminal"
        ? translate("engine.terminalText", { command, path })
        : translate("engine.filesText", { host, command });
  const title = translate("engine.thereTitle", { host: machine ?? host });
  showToast({ tone: "info", title, detail });
  return undefined;
}

/** A file in a worktree, and the line to go to in it. */
interface FileAt {
  readonly file: string;
  readonly line: number | null;
}

/** Opens a worktree, or a file in it, where it is worked on now; says what can be done where that cannot be opened. */
async function open(
  platform: Platform,
  { id, how }: Place,
  tree: PlaceOfTask,
  at: FileAt | null,
): Promise<void> {
  const { there } =
    tree.machine_id == null
      ? { there: null }
      : await call(platform, "task_place", { task_id: tree.task_id });
  const host = engineHost();
  const { path: folder } = tree;
  if (host !== null) {
    const whole = at === null ? folder : `${folder}/${at.file}`;
    return openOn(platform, id, host, { path: whole, line: at?.line ?? null }, there?.machine);
  }
  if (there === null) {
    if (at === null) return how(platform)(folder);
    return platform.openInEditor(`${folder}/${at.file}`, at.line);
  }
  const { machine, destination, path } = there;
  if (destination == null) {
    const detail = translate("task.elsewhere.apart");
    showToast({ tone: "info", title: translate("task.elsewhere.title", { machine }), detail });
    return undefined;
  }
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
  if (at === null) return platform.openInEditorThere(path, destination, null);
  return platform.openInEditorThere(`${path}/${at.file}`, destination, at.line);
}

function openAt(
  platform: Platform,
  place: Place,
  tree: PlaceOfTask,
  at: FileAt | null = null,
): void {
  open(platform, place, tree, at).catch((thrown: unknown) =>
    showToast({ tone: "danger", title: translate("task.openFailed"), detail: String(thrown) }),
  );
}

/** Opens a file of a worktree in the person's editor, at a line where the editor can do that. */
export function openFileInEditor(
  platform: Platform,
  tree: PlaceOfTask,
  file: string,
  line: number | null,
): void {
  openAt(platform, editor, tree, { file, line });
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

/** Says so where there is no worktree to open. */
export function openInEditor(
  platform: Platform,
  tree: (PlaceOfTask & Pick<Workspace, "status">) | null,
): void {
  if (tree && tree.status !== "cleaned") openAt(platform, places[0], tree);
  else showToast({ tone: "warning", title: translate("task.noWorktree") });
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
