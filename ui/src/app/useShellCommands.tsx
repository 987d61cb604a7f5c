import {
  Bell,
  FolderPlus,
  Keyboard,
  Monitor,
  Moon,
  PanelLeft,
  Plug,
  Plus,
  Search,
  FolderCog,
  Shapes,
  Sun,
} from "lucide-react";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { showOverlay } from "#ui/store/overlays.ts";
import { preferences, setPreference, type Theme } from "#ui/store/preferences.ts";
import { useCommands, type Command } from "./keys.ts";
import { navItems } from "./nav.tsx";
import { navigate } from "./router.ts";

const themeIcons: Readonly<Record<Theme, React.ReactNode>> = {
  light: <Sun />,
  dark: <Moon />,
  system: <Monitor />,
};

/** The commands that are there whatever screen is shown. */
export function useShellCommands(project: string | null): void {
  const { t } = useTranslation();
  const commands = useMemo((): Command[] => {
    const general = t("command.group.general");
    return [
      ...navItems.map((item): Command => {
        const place = t(`nav.${item.label}`);
        return {
          id: `go.${item.route}`,
          label: t("command.go", { place }),
          group: t("command.group.go"),
          keys: [item.keys],
          icon: item.icon,
          run: () => {
            location.hash = item.href(project);
          },
        };
      }),
      {
        id: "shell.palette",
        label: t("command.palette"),
        group: general,
        keys: ["mod+k"],
        icon: <Search />,
        run: () => showOverlay("palette"),
      },
      {
        id: "shell.shortcuts",
        label: t("command.shortcuts"),
        group: general,
        keys: ["?"],
        icon: <Keyboard />,
        run: () => showOverlay("shortcuts"),
      },
      {
        id: "shell.sidebar",
        label: t("command.sidebar"),
        group: general,
        keys: ["mod+b"],
        icon: <PanelLeft />,
        run: () => setPreference("sidebarCollapsed", !preferences.getState().sidebarCollapsed),
      },
      {
        id: "task.new",
        label: t("newTask.command"),
        group: general,
        keys: ["c"],
        icon: <Plus />,
        enabled: project !== null,
        run: () => showOverlay("newTask"),
      },
      {
        id: "project.add",
        label: t("projects.add"),
        group: general,
        keys: ["g p"],
        icon: <FolderPlus />,
        run: () => showOverlay("addProject"),
      },
      {
        id: "project.settings",
        label: t("projectSettings.command"),
        group: general,
        keys: ["g ,"],
        icon: <FolderCog />,
        enabled: project !== null,
        run: () => project !== null && navigate("projectSettings", { project }),
      },
      {
        id: "notifications.open",
        label: t("notifications.open"),
        group: general,
        keys: ["g o"],
        icon: <Bell />,
        run: () => showOverlay("notifications"),
      },
      {
        id: "settings.api",
        label: t("apiAccess.command"),
        group: general,
        icon: <Plug />,
        run: () => navigate("settings", {}, { part: "api" }),
      },
      {
        id: "shell.gallery",
        label: t("command.openGallery"),
        group: general,
        icon: <Shapes />,
        run: () => navigate("gallery"),
      },
      ...(["light", "dark", "system"] as const).map((theme): Command => ({
        id: `theme.${theme}`,
        label: t("command.theme", { theme: t(`theme.${theme}`) }),
        group: t("command.group.theme"),
        icon: themeIcons[theme],
        run: () => setPreference("theme", theme),
      })),
    ];
  }, [t, project]);
  useCommands(commands);
}
