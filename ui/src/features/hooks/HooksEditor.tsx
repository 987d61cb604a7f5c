import { CircleAlert, Redo2, SquareTerminal, Undo2 } from "lucide-react";
import { useEffect, useRef, type RefObject } from "react";
import { useTranslation } from "react-i18next";
import { setQuery, useRoute } from "#ui/app/router.ts";
import { errorText } from "#ui/api/error.ts";
import { findingsOf } from "#ui/api/findings.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { ChangedElsewhere } from "#ui/components/ChangedElsewhere.tsx";
import { CodeEditor } from "#ui/components/CodeEditor.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import {
  editDraft,
  isDirty,
  rebaseDraft,
  redoDraft,
  resetDraft,
  undoDraft,
} from "#ui/draft/drafts.ts";
import { nearestPlace, sentence } from "#ui/draft/findings.ts";
import { parsePath, placeOf } from "#ui/draft/path.ts";
import { useDraftKeys } from "#ui/draft/useDraftKeys.ts";
import { useLeaveNotice } from "#ui/draft/useLeaveNotice.ts";
import { EventHooks } from "./EventHooks.tsx";
import { HooksProvider } from "./HooksContext.tsx";
import { events } from "./hooks.ts";
import { draftKey, useHooksDraft, type HooksDraft } from "./useHooksDraft.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./hooks.module.css";

type View = "form" | "json";

function Toolbar({
  projectId,
  state,
  view,
  onView,
  onSave,
}: {
  projectId: string;
  state: HooksDraft;
  view: View;
  onView: (view: View) => void;
  onSave: () => void;
}) {
  const { t } = useTranslation();
  const key = draftKey(projectId);
  const { draft, parsed, findings } = state;
  const dirty = isDirty(draft);
  const discard = () => {
    if (draft.isStale) resetDraft(key, state.saved, null);
    else editDraft(key, draft.base);
  };
  return (
    <div className={styles.toolbar} role="toolbar" aria-label={t("hooks.tools")}>
      <SegmentedControl<View>
        label={t("hooks.view")}
        value={view}
        segments={(["form", "json"] as const).map((value) => ({
          value,
          label: t(`hooks.views.${value}`),
        }))}
        onChange={onView}
      />
      {!parsed.ok && (
        <Badge tone="danger" icon={<CircleAlert />}>
          {t("workflow.notJson")}
        </Badge>
      )}
      {findings.length > 0 && (
        <Badge tone="danger" icon={<CircleAlert />}>
          {t("hooks.findings", { count: findings.length })}
        </Badge>
      )}
      <span className={layout.fill} />
      <IconButton
        label={t("hooks.undo")}
        keys="mod+z"
        icon={<Undo2 />}
        disabled={draft.past.length === 0}
        onClick={() => undoDraft(key)}
      />
      <IconButton
        label={t("hooks.redo")}
        keys="mod+shift+z"
        icon={<Redo2 />}
        disabled={draft.future.length === 0}
        onClick={() => redoDraft(key)}
      />
      {dirty && (
        <Button variant="ghost" disabled={state.isSaving} onClick={discard}>
          {t("hooks.discard")}
        </Button>
      )}
      <Button
        variant="primary"
        keys="mod+s"
        disabled={!dirty || !parsed.ok}
        busy={state.isSaving}
        onClick={onSave}
      >
        {t("hooks.save")}
      </Button>
    </div>
  );
}

function JsonView({ projectId, state }: { projectId: string; state: HooksDraft }) {
  const { t } = useTranslation();
  const key = draftKey(projectId);
  const { parsed, findings, draft } = state;
  const marks = parsed.ok
    ? findings.map(({ path, message }) => ({
        ...placeOf(parsed.root, parsePath(path)),
        message: sentence(message),
      }))
    : [
        {
          from: parsed.error.offset,
          to: parsed.error.offset + 1,
          message: t(`draft.expected.${parsed.error.expected}`),
        },
      ];
  return (
    <div className={styles.json}>
      <CodeEditor
        label={t("hooks.json")}
        value={draft.text}
        marks={marks}
        minLines={16}
        onChange={(text) => editDraft(key, text, "json")}
        onUndo={() => undoDraft(key)}
        onRedo={() => redoDraft(key)}
      />
    </div>
  );
}

function Trouble({
  projectId,
  state,
  choice,
}: {
  projectId: string;
  state: HooksDraft;
  choice: RefObject<HTMLButtonElement | null>;
}) {
  const { t } = useTranslation();
  const key = draftKey(projectId);
  const { draft, saved, saveError, parsed } = state;
  return (
    <>
      {draft.isStale && (
        <ChangedElsewhere
          ref={choice}
          title={t("hooks.changedElsewhere")}
          onKeep={() => rebaseDraft(key, saved, null)}
          onTake={() => resetDraft(key, saved, null)}
        />
      )}
      {saveError && findingsOf(saveError).length === 0 && (
        <Banner tone="danger" title={t("hooks.notSaved")}>
          {errorText(saveError)}
        </Banner>
      )}
      {!parsed.ok && (
        <Banner tone="danger" title={t("workflow.notJson")}>
          {t("draft.syntax", {
            what: t(`draft.expected.${parsed.error.expected}`),
            line: parsed.error.line,
            column: parsed.error.column,
          })}
        </Banner>
      )}
    </>
  );
}

/** Findings that no field of the form shows. */
function Rest({ state, shown }: { state: HooksDraft; shown: boolean }) {
  const rest = state.findings.filter(
    ({ path }) =>
      !shown ||
      !/^[a-z_]+\[\d+\](\.(command|timeout_seconds|blocking|success_exit_codes|name|enabled|config)\b|$)/.test(
        path,
      ),
  );
  if (rest.length === 0) return null;
  return (
    <ul className={layout.error}>
      {rest.map(({ path, message }) => (
        <li key={path + message}>
          {path && <code>{path}</code>} {sentence(message)}
        </li>
      ))}
    </ul>
  );
}

const focusable = "input:not([disabled]), textarea:not([disabled]), button:not([disabled])";

function Editor({ projectId, state }: { projectId: string; state: HooksDraft }) {
  const { t } = useTranslation();
  const route = useRoute();
  const body = useRef<HTMLDivElement>(null);
  const asked = route.name === "projectSettings" ? route.query["view"] : undefined;
  const view: View = asked === "json" ? "json" : "form";
  const show = (next: View) => setQuery({ view: next === "form" ? null : next });
  const seen = useRef<HooksDraft["saveError"]>(null);
  useLeaveNotice(draftKey(projectId), "hooks.kept");
  const first = state.findings[0]?.path;
  const { saveError } = state;
  // What saving found is led to, once.
  useEffect(() => {
    if (saveError === seen.current) return;
    seen.current = saveError;
    const fields = [...(body.current?.querySelectorAll<HTMLElement>("[data-path]") ?? [])];
    if (!saveError || first === undefined) return;
    const place = nearestPlace(
      first,
      fields.map((field) => field.dataset["path"] ?? ""),
    );
    const field = fields.find((each) => each.dataset["path"] === place);
    field?.scrollIntoView({ block: "center" });
    field?.querySelector<HTMLElement>(focusable)?.focus({ preventScroll: true });
  }, [saveError, first]);
  const choice = useRef<HTMLButtonElement>(null);
  const save = () => {
    if (state.draft.isStale) choice.current?.focus();
    else state.save();
  };
  const onKeyDown = useDraftKeys({ key: draftKey(projectId), save });
  return (
    // Keys of the draft, whatever of it has the focus.
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
    <div className={layout.column} onKeyDown={onKeyDown}>
      <Toolbar projectId={projectId} state={state} view={view} onView={show} onSave={save} />
      {view === "json" ? (
        <div className={styles.text}>
          <Trouble projectId={projectId} state={state} choice={choice} />
          <Rest state={state} shown={false} />
          <JsonView projectId={projectId} state={state} />
        </div>
      ) : (
        <div className={styles.scroll}>
          <div ref={body} className={styles.column}>
            <Trouble projectId={projectId} state={state} choice={choice} />
            {state.hooks ? (
              <HooksProvider
                value={{
                  projectId,
                  hooks: state.hooks,
                  findings: state.findings,
                  edit: state.edit,
                }}
              >
                <p className={layout.note}>{t("hooks.about")}</p>
                <Rest state={state} shown />
                {events.map((event) => (
                  <EventHooks key={event} event={event} />
                ))}
              </HooksProvider>
            ) : (
              <EmptyState
                icon={<SquareTerminal />}
                title={t("hooks.notDrawable")}
                actions={<Button onClick={() => show("json")}>{t("hooks.openJson")}</Button>}
              >
                {state.parsed.ok && t("hooks.notDrawableText")}
              </EmptyState>
            )}
          </div>
        </div>
      )}
    </div>
  );
}

/** A project's lifecycle hooks: one draft, seen as form or as text, each hook to be tried out. */
export default function HooksEditor({ projectId }: { projectId: string }) {
  const { t } = useTranslation();
  const { error, retry, state } = useHooksDraft(projectId);
  // What was read once is edited on, also while it cannot be read again.
  if (error && !state)
    return <ErrorState title={t("hooks.failed")} error={error} onRetry={retry} />;
  if (!state) {
    return (
      <div className={styles.column}>
        <SkeletonText lines={8} />
      </div>
    );
  }
  return <Editor key={projectId} projectId={projectId} state={state} />;
}
