/** One task, beside the board or on a page of its own: the same component. */
import { Play } from "lucide-react";
import { lazy, Suspense, useCallback, useMemo, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { call, useOp } from "#ui/api/client.ts";
import type { Task } from "#ui/api/generated.ts";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { useLayer } from "#ui/app/layers.ts";
import { navigate, setQuery, useRoute } from "#ui/app/router.ts";
import { useTaskActions } from "#ui/app/useTaskActions.tsx";
import { useMenuCommands } from "#ui/app/useMenuCommands.ts";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Skeleton, SkeletonText } from "#ui/components/Skeleton.tsx";
import { Tabs, type Tab } from "#ui/components/Tabs.tsx";
import { useSeen } from "#ui/domain/notices/useReadNotices.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { ActionError } from "./ActionError.tsx";
import { NeedBanner } from "./banner/NeedBanner.tsx";
import { Conversation } from "./conversation/Conversation.tsx";
import { RunConversation } from "./conversation/RunConversation.tsx";
import { createUnfolded } from "./conversation/RowContext.ts";
import { createLogStore } from "./conversation/logStore.ts";
import { DeliveryPart } from "./delivery/DeliveryPart.tsx";
import { DebriefTab } from "./debrief/DebriefTab.tsx";
import { hasDebrief } from "./debrief/debrief.ts";
import { Details } from "./details/Details.tsx";
import { canHaveParts, Parts } from "./details/Parts.tsx";
import { FixesTab } from "./fixes/FixesTab.tsx";
import { hasFixes, openCount } from "./fixes/fixes.ts";
import { isRaced } from "./race/race.ts";
import { RacedConversation } from "./race/RacedConversation.tsx";
import { RaceTab } from "./race/RaceTab.tsx";
import { Reviews } from "./review/Reviews.tsx";
import { hasServices } from "./services/services.ts";
import { ServicesTab } from "./services/ServicesTab.tsx";
import { TaskHeader } from "./TaskHeader.tsx";
import { Timeline } from "./timeline/Timeline.tsx";
import { useAction } from "./useAction.ts";
import { ValidateTab } from "./validate/ValidateTab.tsx";
import { WorkspaceTab } from "./workspace/WorkspaceTab.tsx";
import styles from "./TaskPanel.module.css";

const DiffTab = lazy(() => import("./diff/DiffTab.tsx"));
const TerminalTab = lazy(() => import("./terminal/TerminalTab.tsx"));

export interface TaskPanelProps {
  readonly projectId: string;
  readonly taskId: string;
  readonly mode: "panel" | "page";
  /** How to go away; the default takes `task` out of the address's query, or goes to the board. */
  readonly onClose?: () => void;
}

const tabIds = [
  "conversation",
  "diff",
  "review",
  "race",
  "fixes",
  "validate",
  "timeline",
  "services",
  "workspace",
  "terminal",
  "debrief",
] as const;
type TabId = (typeof tabIds)[number];

/** Some tabs are shown only where there is something: a race, drafted fixes, a worktree, services, what the task left behind. */
type Having = Readonly<
  Record<"race" | "fixes" | "validate" | "services" | "terminal" | "debrief", boolean>
>;
const tabsOf = (has: Having): readonly TabId[] =>
  tabIds.filter((id) => !(id in has) || has[id as keyof Having]);

/** Work has left no trace yet: what the task says is what there is to see. */
const isUntouched = ({ workspace, live, raced }: Task): boolean =>
  workspace === null && live === null && raced === null;

function LoadingPanel() {
  return (
    <div className={styles.loading} aria-busy>
      <Skeleton width="30%" />
      <Skeleton width="75%" height={20} />
      <Skeleton width="55%" />
      <SkeletonText lines={4} />
    </div>
  );
}

interface Asked {
  readonly tab: TabId | null;
  /** One run, whose conversation is to be shown alone. */
  readonly run: string | null;
  readonly key: string;
}

/** The tab, and the place in it, that the address asks for. */
function useAsked(): Asked {
  const route = useRoute();
  if (route.name === null) return { tab: null, run: null, key: "" };
  const { tab: asked, run, file, line, side } = route.query;
  const tab = tabIds.find((id) => id === asked) ?? null;
  return { tab, run: run ?? null, key: tab ? [tab, run, file, line, side].join("\n") : "" };
}

/** Follows the address; a choice by hand ends what the address asked for. */
function useTab(asked: Asked): [TabId, (tab: TabId) => void] {
  const [tab, setTab] = useState<TabId>(asked.tab ?? "conversation");
  const [followed, setFollowed] = useState(asked.key);
  if (asked.key !== followed) {
    setFollowed(asked.key);
    if (asked.tab) setTab(asked.tab);
  }
  const choose = useCallback(
    (next: TabId) => {
      setTab(next);
      if (asked.key !== "") {
        setQuery({ tab: null, run: null, file: null, line: null, side: null });
      }
    },
    [asked.key],
  );
  return [tab, choose];
}

function useTabKeys(shown: readonly TabId[], onTab: (tab: TabId) => void): void {
  const { t } = useTranslation();
  const commands = useMemo<Command[]>(
    () =>
      shown.map((id, index) => ({
        id: `task.tab.${id}`,
        label: t("task.showTab", { tab: t(`task.tab.${id}`) }),
        group: t("nav.task"),
        keys: [String(index + 1)],
        run: () => onTab(id),
      })),
    [t, shown, onTab],
  );
  useCommands(commands);
}

interface LoadedProps extends TaskPanelProps {
  readonly task: Task;
}

function Loaded({ task, projectId, mode, onClose }: LoadedProps) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const view = useOp("project_workflow_get", { project_id: projectId }).data;
  useSeen(task.id);
  const action = useAction();
  const close =
    onClose ??
    (() =>
      mode === "panel" ? setQuery({ task: null }) : navigate("board", { project: projectId }));
  const actions = useTaskActions(view, action.run, close)(task);
  useMenuCommands("task.action", t("nav.task"), actions.menu);
  const raced = isRaced(task);
  const fixes = useOp("fix_list", { task_id: task.id }).data;
  const asked = useAsked();
  const [wanted, setTab] = useTab(asked);
  // Whoever was led there is told, also that there is nothing, or nothing that can be read.
  const fixed = hasFixes(fixes) || wanted === "fixes";
  // Without a worktree there is nothing to validate.
  const validates = task.workspace?.status === "active" || wanted === "validate";
  const types = task.workspace?.status === "active" || wanted === "terminal";
  const services = useOp("task_services", { task_id: task.id }).data?.items;
  // Without a worktree there is nothing to run. Where the project names no services, the tab says where to.
  const serves =
    (hasServices(services) && task.workspace?.status === "active") || wanted === "services";
  const debriefed = hasDebrief(useOp("task_debrief", { task_id: task.id }).data);
  const shown = useMemo(
    () =>
      tabsOf({
        race: raced,
        fixes: fixed,
        validate: validates,
        services: serves,
        terminal: types,
        debrief: debriefed,
      }),
    [raced, fixed, validates, serves, types, debriefed],
  );
  // What the address asks for may be nothing that this task has.
  const tab = shown.includes(wanted) ? wanted : "conversation";
  const [showDetails, setShowDetails] = useState<boolean | null>(null);
  const [showParts, setShowParts] = useState(mode === "page" || isUntouched(task));
  // A race that is to come is told in its tab, which needs the height.
  const detailsOpen = showDetails ?? (isUntouched(task) && tab !== "race");
  // Here, not in the list: with the first part the list moves to a section of its own.
  const [addingPart, setAddingPart] = useState(false);
  const [store] = useState(() =>
    createLogStore((log, page) => call(platform, "execution_logs", { execution_id: log, ...page })),
  );
  const [unfolded] = useState(createUnfolded);
  useTabKeys(shown, setTab);

  useLayer(close, mode === "panel");
  const fullPage = () => navigate("task", { project: projectId, number: String(task.number) });
  const { main } = actions;
  const start =
    main?.kind === "start" ? (
      <Button icon={<Play />} busy={action.busy === "task_claim"} onClick={main.run}>
        {t("task.start")}
      </Button>
    ) : undefined;

  const panels: Readonly<Record<TabId, ReactNode>> = {
    conversation: asked.run ? (
      <RunConversation runId={asked.run} />
    ) : (
      <Conversation
        task={task}
        store={store}
        unfolded={unfolded}
        start={start}
        raced={task.raced && <RacedConversation task={task} />}
      />
    ),
    diff: (
      <Suspense fallback={<LoadingPanel />}>
        <DiffTab task={task} />
      </Suspense>
    ),
    review: <Reviews task={task} />,
    race: <RaceTab task={task} start={start} />,
    fixes: <FixesTab task={task} />,
    validate: <ValidateTab task={task} />,
    timeline: <Timeline task={task} view={view} />,
    services: <ServicesTab task={task} />,
    workspace: <WorkspaceTab task={task} view={view} />,
    terminal: (
      <Suspense fallback={<LoadingPanel />}>
        <TerminalTab task={task} />
      </Suspense>
    ),
    debrief: <DebriefTab task={task} />,
  };
  const open = openCount(fixes);
  const tabs: Tab<TabId>[] = shown.map((id) => ({
    id,
    label: t(`task.tab.${id}`),
    panel: panels[id],
    ...(id === "diff" && task.diff_stat ? { count: task.diff_stat.files } : {}),
    ...(id === "fixes" && open > 0 ? { count: open } : {}),
  }));

  return (
    <article
      className={styles.panel}
      aria-label={t("task.label", { number: task.number, title: task.title })}
    >
      <div
        className={styles.frame}
        data-mode={mode}
        data-reading={(tab === "diff" && !detailsOpen) || undefined}
        data-beside={(tab === "diff" && detailsOpen) || undefined}
      >
        <TaskHeader
          task={task}
          view={view}
          action={action}
          actions={actions}
          onClose={close}
          {...(mode === "panel" ? { onFullPage: fullPage } : {})}
        />
        <div className={styles.about}>
          {action.error && (
            <div className={styles.inset}>
              <ActionError
                title={t("task.actionFailed")}
                error={action.error}
                onDismiss={action.dismiss}
              />
            </div>
          )}
          <div className={styles.inset} data-area="banner">
            <NeedBanner
              task={task}
              workflow={view?.workflow}
              compact={["diff", "race", "fixes", "validate"].includes(tab)}
              below={tab === "race" || tab === "review" ? tab : undefined}
            />
          </div>
          <div className={styles.inset}>
            {view && <DeliveryPart task={task} workflow={view.workflow} />}
          </div>
          <div className={styles.facts}>
            {canHaveParts(task) && task.subtasks.total > 0 && (
              <Parts
                task={task}
                view={view}
                open={showParts || addingPart}
                onToggle={() => setShowParts(!showParts)}
                adding={addingPart}
                onAdding={setAddingPart}
              />
            )}
            <Details
              task={task}
              view={view}
              projectId={projectId}
              open={detailsOpen}
              onToggle={() => setShowDetails(!detailsOpen)}
              adding={addingPart}
              onAdding={setAddingPart}
            />
          </div>
        </div>
        <div className={styles.tabs}>
          <Tabs label={t("task.tabs")} tabs={tabs} value={tab} onChange={setTab} />
        </div>
      </div>
    </article>
  );
}

export function TaskPanel(props: TaskPanelProps) {
  const { t } = useTranslation();
  const task = useOp("task_get", { task_id: props.taskId });
  if (task.data) return <Loaded {...props} task={task.data} />;
  if (task.error) {
    return (
      <ErrorState title={t("task.failed")} error={task.error} onRetry={() => void task.refetch()} />
    );
  }
  return <LoadingPanel />;
}
