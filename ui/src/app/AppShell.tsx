import { Compass, SquareKanban } from "lucide-react";
import { Suspense } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "#ui/components/Button.tsx";
import { CommandPalette, type PaletteGroup } from "#ui/components/CommandPalette.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { showOverlay, useOverlay } from "#ui/store/overlays.ts";
import { ContactBanner } from "./ContactBanner.tsx";
import { Dialogs } from "./Dialogs.tsx";
import { byGroup, useCommandList, type Command } from "./keys.ts";
import { navigate, useRoute } from "./router.ts";
import { Screen } from "./Screen.tsx";
import { ScreenBoundary } from "./ScreenBoundary.tsx";
import { screens } from "./screens.tsx";
import { ShortcutsDialog } from "./ShortcutsDialog.tsx";
import { Sidebar, type ProjectEntry } from "./Sidebar.tsx";
import { StorageBanner } from "./StorageBanner.tsx";
import { useFileDrops } from "./fileDrops.ts";
import { usePaletteFinds } from "./usePaletteFinds.tsx";
import { useCurrentProject, useProjects } from "./useProjects.ts";
import { useShellCommands } from "./useShellCommands.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./AppShell.module.css";

function commandGroups(commands: readonly Command[]): PaletteGroup[] {
  return [...byGroup(commands)].map(([value, members]) => ({
    value,
    items: members.map(({ id, label, keywords, icon, keys, run }) => ({
      id,
      label,
      run,
      icon,
      ...(keywords ? { keywords } : {}),
      ...(keys?.[0] ? { keys: keys[0] } : {}),
    })),
  }));
}

interface PaletteProps {
  readonly projects: readonly ProjectEntry[];
  readonly project: string | null;
}

function Palette({ projects, project }: PaletteProps) {
  const open = useOverlay() === "palette";
  const commands = useCommandList();
  const { groups, onSearch } = usePaletteFinds(projects, project);
  return (
    <CommandPalette
      open={open}
      onOpenChange={(next) => {
        onSearch("");
        showOverlay(next ? "palette" : null);
      }}
      groups={[...groups, ...commandGroups(commands)]}
      onQueryChange={onSearch}
    />
  );
}

function CurrentScreen() {
  const { t } = useTranslation();
  const route = useRoute();
  if (route.name === null) {
    return (
      <Screen title={t("error.unknownPlace")}>
        <EmptyState
          icon={<Compass />}
          title={t("error.unknownPage")}
          actions={
            <Button icon={<SquareKanban />} onClick={() => navigate("home")}>
              {t("command.go", { place: t("nav.board") })}
            </Button>
          }
        >
          {t("error.unknownPageHint")}
        </EmptyState>
      </Screen>
    );
  }
  const Current = screens[route.name];
  return (
    <ScreenBoundary resetKey={route.name}>
      <Suspense fallback={<Loading />}>
        <Current />
      </Suspense>
    </ScreenBoundary>
  );
}

function Loading() {
  return (
    <main className={styles.loading} aria-busy>
      <SkeletonText lines={4} />
    </main>
  );
}

/** The frame that stays: sidebar, the current screen, palette, shortcuts and dialogs. */
export function AppShell() {
  const projects = useProjects();
  const project = useCurrentProject(projects);
  const overlay = useOverlay();
  useShellCommands(project);
  useFileDrops();
  return (
    <div className={styles.shell}>
      <Sidebar
        projects={projects}
        current={project}
        onAddProject={() => showOverlay("addProject")}
      />
      <div className={layout.frame}>
        <ContactBanner />
        <StorageBanner />
        <CurrentScreen />
      </div>
      <Palette projects={projects} project={project} />
      <Dialogs project={project} />
      <ShortcutsDialog
        open={overlay === "shortcuts"}
        onOpenChange={(open) => showOverlay(open ? "shortcuts" : null)}
      />
    </div>
  );
}
