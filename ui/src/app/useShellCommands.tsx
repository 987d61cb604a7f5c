import {
  ALargeSmall,
  Bell,
  Cable,
  Contrast,
  FileInput,
  FolderPlus,
  Keyboard,
  Monitor,
  Moon,
  PanelLeft,
  Plug,
  Plus,
  Rows3,
  Search,
  FolderCog,
  Shapes,
  Sun,
  Undo2,
  X,
} from "lucide-react";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { percent } from "#ui/domain/percent.ts";
import { undoLast, useCanUndo } from "#ui/domain/undo/undo.ts";
import { showOverlay } from "#ui/store/overlays.ts";
import {
  densities,
  preferences,
  setPreference,
  textSizes,
  themes,
  type Theme,
} from "#ui/store/preferences.ts";
import { useCommands, type Command } from "./keys.ts";
import { closeLayer, useHasLayer } from "./layers.ts";
import { navItems } from "./nav.tsx";
import { navigate } from "./router.ts";

const themeIcons: Readonly<Record<Theme, React.ReactNode>> = {
  light: <Sun />,
  dark: <Moon />,
  system: <Monitor />,
  contrast: <Contrast />,
};

/** The commands that are there whatever screen is shown. */
export function useShellCommands(project: string | null): void {
  const { t } = useTranslation();
  const hasLayer = useHasLayer();
  const canUndo = useCanUndo();
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
        id: "shell.close",
        label: t("command.close"),
        group: general,
        keys: ["escape"],
        icon: <X />,
        enabled: hasLayer,
        run: closeLayer,
      },
      {
        id: "shell.undo",
        label: t("undo.command"),
        group: general,
        keys: ["mod+z"],
        icon: <Undo2 />,
        enabled: canUndo,
        // A field undoes its own words.
        sparesTyping: true,
        run: undoLast,
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
        id: "issues.import",
        label: t("issues.command"),
        group: general,
        icon: <FileInput />,
        enabled: project !== null,
        run: () => showOverlay("importIssues"),
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
        id: "engine.connect",
        label: t("engine.connect"),
        group: general,
        icon: <Cable />,
        run: () => showOverlay("connect"),
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
      // For whoever works on the window.
      ...(import.meta.env.DEV
        ? [
            {
              id: "shell.gallery",
              label: t("command.openGallery"),
              group: general,
              icon: <Shapes />,
              run: () => navigate("gallery"),
            },
          ]
        : []),
      ...themes.map((theme): Command => ({
        id: `theme.${theme}`,
        label: t("command.theme", { theme: t(`theme.${theme}`) }),
        group: t("command.group.theme"),
        icon: themeIcons[theme],
        run: () => setPreference("theme", theme),
      })),
      ...densities.map((density): Command => ({
        id: `density.${density}`,
        label: t("command.density", { density: t(`density.${density}`) }),
        group: t("command.group.theme"),
        icon: <Rows3 />,
        run: () => setPreference("density", density),
      })),
      ...textSizes.map((size): Command => ({
        id: `text.${size}`,
        label: t("command.textSize", { size: percent(size / 100) }),
        group: t("command.group.theme"),
        icon: <ALargeSmall />,
        run: () => setPreference("textSize", size),
      })),
    ];
  }, [t, project, hasLayer, canUndo]);
  useCommands(commands);
}
