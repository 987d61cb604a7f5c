import { SquareKanban } from "lucide-react";
import { Suspense, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { HooksEditor, KnowledgeSection, WorkflowEditor } from "#ui/app/projectParts.tsx";
import { navigate, setQuery, useRoute } from "#ui/app/router.ts";
import { Screen } from "#ui/app/Screen.tsx";
import { useOp } from "#ui/api/client.ts";
import type { Project } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { SideTabs } from "#ui/components/SideTabs.tsx";
import { useDraft, useIsDirty, type Draft } from "#ui/draft/drafts.ts";
import { CheckOffers } from "./CheckOffers.tsx";
import { Costs } from "./Costs.tsx";
import { hooksKey, workflowKey } from "./draftKeys.ts";
import { Fields } from "./Fields.tsx";
import { automationFields, checkFields, mergeFields, noticeFields } from "./fields.ts";
import { General } from "./General.tsx";
import { InnerLoop } from "./InnerLoop.tsx";
import { Issues } from "./Issues.tsx";
import { PullRequests } from "./PullRequests.tsx";
import { SettingsOf } from "./SettingsOf.tsx";
import { groups, pageOf, pages, type PageId } from "./settingsPages.ts";
import { SettingsSaving } from "./SettingsSaving.tsx";
import { Services } from "./services/Services.tsx";
import { Setup } from "./Setup.tsx";
import { draftKey } from "./services/useServicesDraft.ts";
import { patchFrom, pathsOf } from "./settingsDraft.ts";
import { settingsDraftKey } from "./useSettingsDraft.ts";
import { ValidateGate } from "./ValidateGate.tsx";
import styles from "./settings.module.css";

/** The pages of what is written; a value that no page names is of the setup. */
function pagesOf(draft: Draft | undefined): readonly PageId[] {
  if (!draft) return [];
  const paths = pathsOf(patchFrom(JSON.parse(draft.base), JSON.parse(draft.text)));
  return paths.map((path) => pageOf(path) ?? "setup");
}

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

/** Heavy parts come when somebody looks at them. */
function Lazily({ part }: { part: ReactNode }) {
  const waiting = (
    <div className={styles.column}>
      <SkeletonText lines={8} />
    </div>
  );
  return <Suspense fallback={waiting}>{part}</Suspense>;
}

function useUnsaved(projectId: string): ReadonlySet<PageId> {
  const workflow = useIsDirty(workflowKey(projectId));
  const hooks = useIsDirty(hooksKey(projectId));
  const services = useIsDirty(draftKey(projectId));
  const settings = useDraft(settingsDraftKey(projectId));
  return new Set<PageId>([
    ...(workflow ? (["workflow"] as const) : []),
    ...(hooks ? (["hooks"] as const) : []),
    ...(services ? (["services"] as const) : []),
    ...pagesOf(settings),
  ]);
}

export default function ProjectSettingsScreen() {
  const { t } = useTranslation();
  const route = useRoute();
  const id = route.name === "projectSettings" ? route.params.project : "";
  const unsaved = useUnsaved(id);
  const wanted = route.name === "projectSettings" ? route.query["tab"] : undefined;
  const tab = pages.find((each) => each === wanted) ?? "general";
  const project = useOp("project_get", { project_id: id }, { enabled: id !== "" });
  const settled = (found: Project, content: ReactNode, ownEditor = false): ReactNode => (
    <div className={styles.column}>
      <SettingsOf key={found.id} project={found} page={tab} ownEditor={ownEditor}>
        {content}
      </SettingsOf>
    </div>
  );
  const panel = (each: PageId, found: Project): ReactNode => {
    switch (each) {
      case "general":
        return settled(found, <General project={found} />);
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
      case "issues":
        return settled(found, <Issues project={found} />);
      case "setup":
        return settled(found, <Setup projectId={found.id} />);
      case "services":
        return settled(found, <Services key={found.id} projectId={found.id} />, true);
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
        <SettingsSaving key={found.id} projectId={found.id} page={tab}>
          <SideTabs<PageId>
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
        </SettingsSaving>
      )}
    </Screen>
  );
}
