import { Suspense } from "react";
import { useTranslation } from "react-i18next";
import { CommandPalette, type PaletteGroup } from "#ui/components/CommandPalette.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { showOverlay, useOverlay } from "#ui/store/overlays.ts";
import { usePreference } from "#ui/store/preferences.ts";
import { byGroup, useCommandList, type Command } from "./keys.ts";
import { useRoute } from "./router.ts";
import { ScreenBoundary } from "./ScreenBoundary.tsx";
import { screens } from "./screens.tsx";
import { ShortcutsDialog } from "./ShortcutsDialog.tsx";
import { Sidebar, type ProjectEntry } from "./Sidebar.tsx";
import { useShellCommands } from "./useShellCommands.tsx";
import styles from "./AppShell.module.css";

export interface AppShellProps {
  readonly projects: readonly ProjectEntry[];
  readonly onAddProject?: () => void;
  /** Tasks and projects found for what is typed in the palette, before the commands. */
  readonly found?: readonly PaletteGroup[];
  readonly onSearch?: (query: string) => void;
}

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

function Palette({ found, onSearch }: Pick<AppShellProps, "found" | "onSearch">) {
  const open = useOverlay() === "palette";
  const commands = useCommandList();
  return (
    <CommandPalette
      open={open}
      onOpenChange={(next) => showOverlay(next ? "palette" : null)}
      groups={[...(found ?? []), ...commandGroups(commands)]}
      {...(onSearch ? { onQueryChange: onSearch } : {})}
    />
  );
}

function CurrentScreen() {
  const { t } = useTranslation();
  const route = useRoute();
  if (route.name === null) {
    return <EmptyState title={t("error.unknownPage")}>{t("error.unknownPageHint")}</EmptyState>;
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
    <div className={styles.loading} aria-busy>
      <SkeletonText lines={4} />
    </div>
  );
}

/** The frame that stays: sidebar, the current screen, palette and shortcuts. */
export function AppShell({ projects, onAddProject, found, onSearch }: AppShellProps) {
  const route = useRoute();
  const last = usePreference("lastProject");
  const inRoute = route.name !== null && "project" in route.params ? route.params.project : null;
  const project = inRoute ?? projects.find(({ id }) => id === last)?.id ?? projects[0]?.id ?? null;
  const overlay = useOverlay();
  useShellCommands(project);
  return (
    <div className={styles.shell}>
      <Sidebar projects={projects} current={project} onAddProject={onAddProject} />
      <CurrentScreen />
      <Palette {...(found ? { found } : {})} {...(onSearch ? { onSearch } : {})} />
      <ShortcutsDialog
        open={overlay === "shortcuts"}
        onOpenChange={(open) => showOverlay(open ? "shortcuts" : null)}
      />
    </div>
  );
}
