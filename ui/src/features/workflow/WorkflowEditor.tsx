import { Columns2 } from "lucide-react";
import { lazy, Suspense, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { setQuery, useRoute } from "#ui/app/router.ts";
import { Button } from "#ui/components/Button.tsx";
import { CodeEditor } from "#ui/components/CodeEditor.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { editDraft, redoDraft, undoDraft } from "#ui/draft/drafts.ts";
import { sentence } from "#ui/draft/findings.ts";
import { offsetAt } from "#ui/draft/json.ts";
import { parsePath, placeOf } from "#ui/draft/path.ts";
import { useDraftKeys } from "#ui/draft/useDraftKeys.ts";
import { useLeaveNotice } from "#ui/draft/useLeaveNotice.ts";
import { EditorProvider, type Target } from "./EditorContext.tsx";
import { FindingList } from "./FindingList.tsx";
import { FormView, stateOf } from "./FormView.tsx";
import { SaveTrouble } from "./SaveTrouble.tsx";
import { SourceBanner } from "./SourceBanner.tsx";
import { Toolbar, type View } from "./Toolbar.tsx";
import { draftKey, useWorkflowDraft, type WorkflowDraft } from "./useWorkflowDraft.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./workflow.module.css";

// The graph's library comes with the graph.
const GraphView = lazy(() => import("./GraphView.tsx"));

const wide = "(min-width: 1180px)";

/** Whether graph and form fit side by side. */
function useIsWide(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const query = matchMedia(wide);
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => matchMedia(wide).matches,
  );
}

const syntaxPlace = /line (\d+) column (\d+)/;

function JsonView({
  projectId,
  state,
  target,
}: {
  projectId: string;
  state: WorkflowDraft;
  target: Target | null;
}) {
  const { t } = useTranslation();
  const key = draftKey(projectId);
  const { parsed, draft, findings, view } = state;
  const marks = parsed.ok
    ? findings.map(({ path, message }) => {
        const at = path === "" ? syntaxPlace.exec(message) : null;
        if (!at) return { ...placeOf(parsed.root, parsePath(path)), message: sentence(message) };
        const from = offsetAt(draft.text, { line: Number(at[1]), column: Number(at[2]) });
        return { from, to: from + 1, message: sentence(message) };
      })
    : [
        {
          from: parsed.error.offset,
          to: parsed.error.offset + 1,
          message: t(`draft.expected.${parsed.error.expected}`),
        },
      ];
  const goTo = target && {
    offset: parsed.ok ? placeOf(parsed.root, parsePath(target.path)).from : parsed.error.offset,
  };
  return (
    <CodeEditor
      label={t("workflow.json")}
      value={draft.text}
      marks={marks}
      goTo={goTo}
      readOnly={view.source === "repository"}
      minLines={16}
      onChange={(text) => editDraft(key, text, "json")}
      onUndo={() => undoDraft(key)}
      onRedo={() => redoDraft(key)}
    />
  );
}

function Broken({ state, onJson }: { state: WorkflowDraft; onJson: () => void }) {
  const { t } = useTranslation();
  const { parsed } = state;
  return (
    <EmptyState
      icon={<Columns2 />}
      title={parsed.ok ? t("workflow.notDrawable") : t("workflow.notJson")}
      actions={<Button onClick={onJson}>{t("workflow.openJson")}</Button>}
    >
      {parsed.ok
        ? t("workflow.notDrawableText")
        : t("draft.syntax", {
            what: t(`draft.expected.${parsed.error.expected}`),
            line: parsed.error.line,
            column: parsed.error.column,
          })}
    </EmptyState>
  );
}

function Editor({ projectId, state }: { projectId: string; state: WorkflowDraft }) {
  const { t } = useTranslation();
  const route = useRoute();
  const isWide = useIsWide();
  const asked = route.name === "projectSettings" ? route.query["view"] : undefined;
  const view: View = asked === "form" || asked === "json" ? asked : "graph";
  const [target, setTarget] = useState<Target | null>(null);
  const show = (next: View) => setQuery({ view: next === "graph" ? null : next });
  const [open, setOpen] = useState<number | null>(null);
  useLeaveNotice(draftKey(projectId), "workflow.kept");
  const readOnly = state.view.source === "repository";
  const goTo = (path: string) => {
    const index = stateOf(path);
    if (index !== null) setOpen(index);
    setTarget({ path });
    // The graph says where, the form says what.
    if (view === "graph" && (!isWide || !state.workflow)) show(state.workflow ? "form" : "json");
  };
  const onKeyDown = useDraftKeys({
    key: draftKey(projectId),
    save: state.save,
    isOff: readOnly,
  });
  const broken = <Broken state={state} onJson={() => show("json")} />;
  return (
    // Keys of the draft, whatever of it has the focus.
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
    <div className={layout.column} onKeyDown={onKeyDown}>
      <div className={styles.notice}>
        <SourceBanner projectId={projectId} view={state.view} />
      </div>
      <Toolbar
        projectId={projectId}
        state={state}
        view={view}
        onView={(next) => {
          setTarget(null);
          show(next);
        }}
        readOnly={readOnly}
      />
      <div className={styles.notice}>
        <SaveTrouble projectId={projectId} state={state} />
      </div>
      {view === "json" ? (
        <div className={styles.json}>
          <JsonView projectId={projectId} state={state} target={target} />
        </div>
      ) : state.workflow ? (
        <EditorProvider
          value={{
            projectId,
            workflow: state.workflow,
            readOnly,
            findings: state.findings,
            edit: state.edit,
            open,
            setOpen,
            target,
            goTo,
          }}
        >
          <div className={styles.views}>
            {view === "graph" && (
              <Suspense fallback={<SkeletonText lines={8} />}>
                <GraphView />
              </Suspense>
            )}
            {(view === "form" || isWide) && (
              <div className={styles.formPane} data-alone={view === "form" || undefined}>
                <FormView />
              </div>
            )}
          </div>
        </EditorProvider>
      ) : (
        broken
      )}
      <FindingList
        state={state}
        label={t("workflow.problems")}
        onSelect={goTo}
        onSyntax={() => {
          show("json");
          setTarget({ path: "" });
        }}
      />
    </div>
  );
}

/** A project's workflow: one draft, seen as graph and form, or as text. */
export default function WorkflowEditor({ projectId }: { projectId: string }) {
  const { t } = useTranslation();
  const { error, retry, state } = useWorkflowDraft(projectId);
  if (error)
    return <ErrorState title={t("projectSettings.failed")} error={error} onRetry={retry} />;
  if (!state) {
    return (
      <div className={styles.formView}>
        <SkeletonText lines={8} />
      </div>
    );
  }
  return <Editor key={projectId} projectId={projectId} state={state} />;
}
