/** Which component draws which route. Every screen is a chunk of its own. */
import { lazy, type ComponentType, type LazyExoticComponent } from "react";
import type { RouteName } from "./router.ts";

type Screens = Readonly<Record<RouteName, LazyExoticComponent<ComponentType>>>;

const board = lazy(() => import("#ui/features/board/BoardScreen.tsx"));

export const screens: Screens = {
  home: board,
  board,
  task: lazy(() => import("./TaskPage.tsx")),
  projectSettings: lazy(() => import("#ui/features/projects/ProjectSettingsScreen.tsx")),
  attention: lazy(() => import("#ui/features/attention/AttentionScreen.tsx")),
  workspaces: lazy(() => import("#ui/features/workspaces/WorkspacesScreen.tsx")),
  runs: lazy(() => import("#ui/features/runs/RunsScreen.tsx")),
  costs: lazy(() => import("#ui/features/costs/CostsScreen.tsx")),
  agents: lazy(() => import("#ui/features/agents/AgentsScreen.tsx")),
  machines: lazy(() => import("#ui/features/machines/MachinesScreen.tsx")),
  innerLoop: lazy(() => import("#ui/features/innerLoop/InnerLoopScreen.tsx")),
  settings: lazy(() => import("#ui/features/settings/SettingsScreen.tsx")),
  gallery: lazy(() => import("#ui/features/gallery/GalleryScreen.tsx")),
};
