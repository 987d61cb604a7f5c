import { Cable, ChevronsUpDown, Laptop, PanelLeft, Plus, Server } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Avatar } from "#ui/components/Avatar.tsx";
import { BrandMark } from "#ui/components/BrandMark.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { KeyHint } from "#ui/components/Kbd.tsx";
import { Menu, type MenuEntry } from "#ui/components/Menu.tsx";
import { openEngine, useEngine } from "#ui/domain/engine/engine.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { showOverlay } from "#ui/store/overlays.ts";
import { useMedia } from "./useMedia.ts";
import { setPreference, usePreference } from "#ui/store/preferences.ts";
import { navItems, type NavItem } from "./nav.tsx";
import { navigate, useRoute } from "./router.ts";
import styles from "./Sidebar.module.css";

export interface ProjectEntry {
  readonly id: string;
  readonly name: string;
}

export interface SidebarProps {
  readonly projects: readonly ProjectEntry[];
  readonly current: string | null;
  /** Without it no project can be added from here. */
  readonly onAddProject?: (() => void) | undefined;
}

function NavLink({ item, current }: { item: NavItem; current: string | null }) {
  const { t } = useTranslation();
  const route = useRoute();
  const here =
    route.name === item.route ||
    (item.route === "board" && (route.name === "home" || route.name === "task"));
  const label = t(`nav.${item.label}`);
  return (
    <a
      href={item.href(current)}
      className={styles.link}
      aria-current={here ? "page" : undefined}
      title={label}
      draggable={false}
    >
      {item.icon}
      <span className={styles.name}>{label}</span>
      {item.Count && <item.Count />}
      <span className={styles.keys}>
        <KeyHint keys={item.keys} />
      </span>
    </a>
  );
}

/** The engines of other windows, and the way to another computer. */
function useEngineEntries(): MenuEntry[] {
  const { t } = useTranslation();
  const platform = usePlatform();
  const { host, known } = useEngine();
  const others = known.filter((name) => name !== host);
  return [
    { kind: "separator", id: "engines" },
    ...(host === null
      ? []
      : [
          {
            id: "engine.here",
            label: t("engine.here"),
            icon: <Laptop />,
            onSelect: () => openEngine(platform, null),
          },
        ]),
    ...others.map((name) => ({
      id: `engine.${name}`,
      label: name,
      icon: <Server />,
      onSelect: () => openEngine(platform, name),
    })),
    {
      id: "engine.connect",
      label: t("engine.connect"),
      icon: <Cable />,
      onSelect: () => showOverlay("connect"),
    },
  ];
}

function ProjectSwitcher({ projects, current, onAddProject }: SidebarProps) {
  const { t } = useTranslation();
  const project = projects.find(({ id }) => id === current);
  const { host } = useEngine();
  const engines = useEngineEntries();
  const name = project?.name ?? t("nav.noProject");
  const entries: MenuEntry[] = [
    ...projects.map(({ id, name: label }): MenuEntry => ({
      id,
      label,
      icon: <Avatar name={label} size={14} />,
      onSelect: () => navigate("board", { project: id }),
    })),
    ...(projects.length > 0 ? [{ kind: "separator", id: "separator" } as const] : []),
    ...(onAddProject
      ? [
          { id: "add", label: t("nav.addProject"), icon: <Plus />, onSelect: onAddProject },
          ...engines,
        ]
      : []),
  ];
  if (entries.length === 0) {
    return (
      <div className={styles.project}>
        <BrandMark />
        <span className={styles.name}>{t("app.name")}</span>
      </div>
    );
  }
  return (
    <Menu
      entries={entries}
      trigger={
        <button
          type="button"
          className={styles.project}
          aria-label={`${t("nav.project")}: ${name}`}
        >
          {project ? <Avatar name={project.name} size={20} /> : <BrandMark />}
          <span dir="auto" className={styles.name}>
            {name}
          </span>
          {host !== null && <span className={styles.host}>{host}</span>}
          <ChevronsUpDown className={styles.chevron} aria-hidden />
        </button>
      }
    />
  );
}

export function Sidebar(props: SidebarProps) {
  const { t } = useTranslation();
  // At 200 % in the smallest window there is no room for words beside what is read.
  const isNarrow = useMedia("(max-width: 640px)");
  const collapsed = usePreference("sidebarCollapsed") || isNarrow;
  const links = (place: NavItem["place"]) =>
    navItems
      .filter((item) => item.place === place)
      .map((item) => <NavLink key={item.route} item={item} current={props.current} />);
  return (
    <nav
      className={styles.sidebar}
      data-collapsed={collapsed || undefined}
      aria-label={t("nav.label")}
    >
      <ProjectSwitcher {...props} />
      <div className={styles.links}>{links("top")}</div>
      <div className={styles.links} data-place="bottom">
        {links("bottom")}
      </div>
      {!isNarrow && (
        <div className={styles.toggle}>
          <IconButton
            label={collapsed ? t("action.expandSidebar") : t("action.collapseSidebar")}
            icon={<PanelLeft />}
            keys="mod+b"
            onClick={() => setPreference("sidebarCollapsed", !collapsed)}
          />
        </div>
      )}
    </nav>
  );
}
