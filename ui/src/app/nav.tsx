/**
 * The sidebar's places, in order. A feature that has a screen of its own adds a line here, its
 * pattern in router.ts and its component in screens.tsx.
 */
import {
  Activity,
  Bot,
  CircleDollarSign,
  FolderGit2,
  Inbox,
  Repeat,
  Server,
  Settings,
  SquareKanban,
} from "lucide-react";
import type { ComponentType, ReactNode } from "react";
import { AttentionCount } from "#ui/features/attention/AttentionCount.tsx";
import { WorkspacesCount } from "#ui/features/workspaces/WorkspacesCount.tsx";
import type en from "#ui/i18n/en.json";
import { formatRoute, type RouteName } from "./router.ts";

export interface NavItem {
  readonly route: RouteName;
  readonly label: keyof typeof en.nav;
  readonly icon: ReactNode;
  readonly keys: string;
  /** Where it leads, given the project in view. */
  readonly href: (project: string | null) => string;
  /** Draws how much waits there, as a count badge, or nothing. */
  readonly Count?: ComponentType;
  readonly place: "top" | "bottom";
}

export const navItems: readonly NavItem[] = [
  {
    route: "board",
    label: "board",
    icon: <SquareKanban />,
    keys: "g b",
    href: (project) => (project ? formatRoute("board", { project }) : formatRoute("home")),
    place: "top",
  },
  {
    route: "attention",
    label: "attention",
    icon: <Inbox />,
    keys: "g a",
    href: () => formatRoute("attention"),
    Count: AttentionCount,
    place: "top",
  },
  {
    route: "workspaces",
    label: "workspaces",
    icon: <FolderGit2 />,
    keys: "g w",
    href: () => formatRoute("workspaces"),
    Count: WorkspacesCount,
    place: "top",
  },
  {
    route: "runs",
    label: "runs",
    icon: <Activity />,
    keys: "g r",
    href: () => formatRoute("runs"),
    place: "top",
  },
  {
    route: "costs",
    label: "costs",
    icon: <CircleDollarSign />,
    keys: "g c",
    href: () => formatRoute("costs"),
    place: "top",
  },
  {
    route: "agents",
    label: "agents",
    icon: <Bot />,
    keys: "g n",
    href: () => formatRoute("agents"),
    place: "top",
  },
  {
    route: "machines",
    label: "machines",
    icon: <Server />,
    keys: "g m",
    href: () => formatRoute("machines"),
    place: "top",
  },
  {
    route: "innerLoop",
    label: "innerLoop",
    icon: <Repeat />,
    keys: "g i",
    href: (project) => (project ? formatRoute("innerLoop", { project }) : formatRoute("home")),
    place: "top",
  },
  {
    route: "settings",
    label: "settings",
    icon: <Settings />,
    keys: "g s",
    href: () => formatRoute("settings"),
    place: "bottom",
  },
];
