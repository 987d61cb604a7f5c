/** Opens a folder in what the person works with. */
import { FolderOpen, SquareCode, SquareTerminal } from "lucide-react";
import { useTranslation } from "react-i18next";
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

function openAt(platform: Platform, { how }: Place, path: string): void {
  how(platform)(path).catch((thrown: unknown) =>
    showToast({ tone: "danger", title: translate("task.openFailed"), detail: String(thrown) }),
  );
}

export function PlaceButtons({ path }: { path: string }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  return places.map((place) => (
    <Button
      key={place.id}
      size="sm"
      icon={place.icon}
      onClick={() => openAt(platform, place, path)}
    >
      {t(`workspace.${place.id}`)}
    </Button>
  ));
}

const labels = { editor: "openEditor", terminal: "openTerminal", files: "openFiles" } as const;

export function placeEntries(platform: Platform, path: string): MenuEntry[] {
  return places.map((place) => ({
    id: place.id,
    label: translate(`task.${labels[place.id]}`),
    icon: place.icon,
    onSelect: () => openAt(platform, place, path),
  }));
}
