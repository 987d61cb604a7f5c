import { SquareKanban } from "lucide-react";
import { Suspense, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { HooksEditor, KnowledgeSection, WorkflowEditor } from "#ui/app/projectParts.tsx";
import { navigate, setQuery, useRoute } from "#ui/app/router.ts";
import { Screen } from "#ui/app/Screen.tsx";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { findingsOf } from "#ui/api/findings.ts";
import type { Project } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { SideTabs } from "#ui/components/SideTabs.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { useIsDirty } from "#ui/draft/drafts.ts";
import { CheckOffers } from "./CheckOffers.tsx";
import { Costs } from "./Costs.tsx";
import { Fields } from "./Fields.tsx";
import { automationFields, checkFields, mergeFields, noticeFields } from "./fields.ts";
import { General } from "./General.tsx";
import { InnerLoop } from "./InnerLoop.tsx";
import { PullRequests } from "./PullRequests.tsx";
import { SettingsProvider } from "./Setting.tsx";
import { Services } from "./services/Services.tsx";
import { Setup } from "./Setup.tsx";
import { draftKey } from "./services/useServicesDraft.ts";
import { ValidateGate } from "./ValidateGate.tsx";
import styles from "./settings.module.css";

const groups = [
  {
    name: "project",
    tabs: ["general", "setup", "services", "costs", "knowledge", "notifications"],
  },
  { name: "process", tabs: ["workflow", "hooks", "automation", "innerLoop"] },
  { name: "delivery", tabs: ["checks", "merge", "pullRequests"] },
] as const;
type TabId = (typeof groups)[number]["tabs"][number];
const tabs: readonly TabId[] = groups.flatMap((group) => [...group.tabs]);

function Checks({ projectId }: { projectId: string }) {
  return (
    <>
      <CheckOffers projectId={projectId} />
      <Fields fields={checkFields} />
      <ValidateGate />
    </>
  );
}

function Automation() {
  const access = useOp("doors_get", {}).data;
  return <Fields fields={automationFields(access !== undefined && access.mcp_url === null)} />;
}

function SettingsOf({ project, children }: { project: Project; children: ReactNode }) {
  const { t } = useTranslation();
  const settings = useOp("project_settings_get", { project_id: project.id });
  const update = useOpMutation("project_settings_update", {
    onSuccess: () => void settings.refetch(),
    onError: (error) => {
      // A finding is said at its field.
      if (findingsOf(error).length > 0) return;
      showToast({ tone: "danger", title: t("projectSettings.notSaved"), detail: error.message });
    },
  });
  // What was read once is edited on, also while it cannot be read again.
  if (settings.error && !settings.data) {
    return (
      <ErrorState
        title={t("projectSettings.failed")}
        error={settings.error}
        onRetry={() => void settings.refetch()}
      />
    );
  }
  if (!settings.data) return <SkeletonText lines={6} />;
  return (
    <SettingsProvider
      value={{
        view: settings.data,
        error: update.error,
        busy: update.isPending,
        patch: (change) => update.mutate({ ...change, project_id: project.id }),
        save: (change) => update.mutateAsync({ ...change, project_id: project.id }),
        reread: () =>
          settings.refetch().then(({ data, isError }) => (data && !isError ? data : null)),
      }}
    >
      {children}
    </SettingsProvider>
  );
}

/** Heavy parts come when somebody looks at them. */
function Lazily({ part }: { part: ReactNode }) {
  const waiting = (
    <div className={styles.column}>
      <SkeletonText lines={8} />
    </div>
  );
  return <Suspense fallback={waiting}>{part}</Suspense>;
}

function useUnsaved(projectId: string): ReadonlySet<TabId> {
  const workflow = useIsDirty(`workflow:${projectId}`);
  const hooks = useIsDirty(`hooks:${projectId}`);
  const services = useIsDirty(draftKey(projectId));
  return new Set([
    ...(workflow ? (["workflow"] as const) : []),
    ...(hooks ? (["hooks"] as const) : []),
    ...(services ? (["services"] as const) : []),
  ]);
}

export default function ProjectSettingsScreen() {
  const { t } = useTranslation();
  const route = useRoute();
  const id = route.name === "projectSettings" ? route.params.project : "";
  const unsaved = useUnsaved(id);
  const wanted = route.name === "projectSettings" ? route.query["tab"] : undefined;
  const tab = tabs.find((each) => each === wanted) ?? "general";
  const project = useOp("project_get", { project_id: id }, { enabled: id !== "" });
  const settled = (found: Project, content: ReactNode): ReactNode => (
    <div className={styles.column}>
      <SettingsOf project={found}>{content}</SettingsOf>
    </div>
  );
  const panel = (each: TabId, found: Project): ReactNode => {
    switch (each) {
      case "general":
        return (
          <div className={styles.column}>
            <General project={found} />
          </div>
        );
      case "workflow":
        return <Lazily part={<WorkflowEditor projectId={found.id} />} />;
      case "hooks":
        return <Lazily part={<HooksEditor projectId={found.id} />} />;
      case "checks":
        return settled(found, <Checks projectId={found.id} />);
      case "merge":
        return settled(found, <Fields fields={mergeFields(found.default_branch)} />);
      case "pullRequests":
        return settled(found, <PullRequests project={found} />);
      case "setup":
        return settled(found, <Setup projectId={found.id} />);
      case "services":
        return settled(found, <Services key={found.id} projectId={found.id} />);
      case "automation":
        return settled(found, <Automation />);
      case "costs":
        return settled(found, <Costs />);
      case "innerLoop":
        return settled(found, <InnerLoop project={found} />);
      case "knowledge":
        return <Lazily part={<KnowledgeSection projectId={found.id} />} />;
      case "notifications":
        return settled(found, <Fields fields={noticeFields} />);
    }
  };
  const found = project.data;
  return (
    <Screen
      title={
        found ? t("projectSettings.title", { name: found.name }) : t("projectSettings.command")
      }
      actions={
        <Button
          size="sm"
          icon={<SquareKanban />}
          onClick={() => navigate("board", { project: id })}
        >
          {t("nav.board")}
        </Button>
      }
    >
      {project.error && (
        <ErrorState
          title={t("projectSettings.failed")}
          error={project.error}
          onRetry={() => void project.refetch()}
        />
      )}
      {found && (
        <SideTabs<TabId>
          label={t("projectSettings.command")}
          value={tab}
          onChange={(next) => setQuery({ tab: next === "general" ? null : next, view: null })}
          groups={groups.map((group) => ({
            title: t(`projectSettings.group.${group.name}`),
            tabs: group.tabs.map((each) => ({
              id: each,
              label: unsaved.has(each)
                ? t("projectSettings.unsavedTab", { name: t(`projectSettings.tab.${each}`) })
                : t(`projectSettings.tab.${each}`),
              panel: each === tab ? panel(each, found) : null,
            })),
          }))}
        />
      )}
    </Screen>
  );
}
