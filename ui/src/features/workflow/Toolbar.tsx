import {
  CircleAlert,
  CircleCheck,
  Copy,
  Ellipsis,
  FileUp,
  GitBranch,
  LayoutTemplate,
  Redo2,
  Undo2,
} from "lucide-react";
import { useRef, useState, type RefObject } from "react";
import { useTranslation } from "react-i18next";
import { useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Menu, type MenuEntry } from "#ui/components/Menu.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { editDraft, isDirty, redoDraft, resetDraft, undoDraft } from "#ui/draft/drafts.ts";
import { PresetDialog } from "./PresetDialog.tsx";
import { draftKey, textOf, type WorkflowDraft } from "./useWorkflowDraft.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./workflow.module.css";

export type View = "graph" | "form" | "json";

function Verdict({ state }: { state: WorkflowDraft }) {
  const { t } = useTranslation();
  const { parsed, findings, isChecking } = state;
  if (!parsed.ok) {
    return (
      <Badge tone="danger" icon={<CircleAlert />}>
        {t("workflow.notJson")}
      </Badge>
    );
  }
  if (findings.length > 0) {
    return (
      <Badge tone="danger" icon={<CircleAlert />}>
        {t("workflow.findings", { count: findings.length })}
      </Badge>
    );
  }
  if (isChecking) return <span className={styles.hint}>{t("workflow.checking")}</span>;
  return (
    <Badge tone="success" icon={<CircleCheck />}>
      {t("workflow.valid")}
    </Badge>
  );
}

/** A file of the person's becomes the draft, whatever is in it: what is wrong is shown like anything else. */
function ImportField({
  input,
  onText,
}: {
  input: RefObject<HTMLInputElement | null>;
  onText: (text: string) => void;
}) {
  const { t } = useTranslation();
  const read = async (field: HTMLInputElement) => {
    const text = await field.files?.[0]?.text();
    // The same file can be chosen again.
    field.value = "";
    if (text !== undefined) onText(text);
  };
  return (
    <input
      ref={input}
      hidden
      type="file"
      accept=".json,application/json"
      aria-label={t("workflow.import")}
      onChange={(event) => void read(event.currentTarget)}
    />
  );
}

export function Toolbar({
  projectId,
  state,
  view,
  onView,
  readOnly,
}: {
  projectId: string;
  state: WorkflowDraft;
  view: View;
  onView: (view: View) => void;
  readOnly: boolean;
}) {
  const { t } = useTranslation();
  const key = draftKey(projectId);
  const { draft } = state;
  const [presets, setPresets] = useState(false);
  const dirty = isDirty(draft);
  const file = useRef<HTMLInputElement>(null);
  const copy = () => {
    navigator.clipboard.writeText(draft.text).then(
      () =>
        showToast({
          tone: "success",
          title: t("workflow.exported"),
          detail: t("workflow.exportedText"),
        }),
      () => showToast({ tone: "danger", title: t("action.copyFailed") }),
    );
  };
  const discard = () => {
    if (draft.isStale) resetDraft(key, textOf(state.view.workflow), state.view.version);
    else editDraft(key, draft.base);
  };
  const update = useOpMutation("project_settings_update", {
    onError: (error) =>
      showToast({ tone: "danger", title: t("workflow.sourceFailed"), detail: errorText(error) }),
  });
  const copyEntry: MenuEntry = {
    id: "copy",
    label: t("workflow.export"),
    icon: <Copy />,
    onSelect: copy,
  };
  const entries: MenuEntry[] = [
    {
      id: "presets",
      label: t("workflow.presetsEntry"),
      icon: <LayoutTemplate />,
      onSelect: () => setPresets(true),
    },
    {
      id: "import",
      label: t("workflow.importEntry"),
      icon: <FileUp />,
      onSelect: () => file.current?.click(),
    },
    copyEntry,
    { kind: "separator", id: "line" },
    {
      id: "repository",
      label: t("workflow.useRepository"),
      note: t("workflow.useRepositoryNote"),
      icon: <GitBranch />,
      onSelect: () => update.mutate({ project_id: projectId, workflow_source: "repository" }),
    },
  ];
  return (
    <div className={styles.toolbar} role="toolbar" aria-label={t("workflow.tools")}>
      <SegmentedControl<View>
        label={t("workflow.view")}
        value={view}
        segments={(["graph", "form", "json"] as const).map((value) => ({
          value,
          label: t(`workflow.views.${value}`),
        }))}
        onChange={onView}
      />
      <Verdict state={state} />
      <span className={layout.fill} />
      {!readOnly && (
        <>
          <IconButton
            label={t("workflow.undo")}
            keys="mod+z"
            icon={<Undo2 />}
            disabled={draft.past.length === 0}
            onClick={() => undoDraft(key)}
          />
          <IconButton
            label={t("workflow.redo")}
            keys="mod+shift+z"
            icon={<Redo2 />}
            disabled={draft.future.length === 0}
            onClick={() => redoDraft(key)}
          />
        </>
      )}
      <Menu
        align="end"
        trigger={<IconButton label={t("workflow.moreActions")} icon={<Ellipsis />} />}
        entries={readOnly ? [copyEntry] : entries}
      />
      <ImportField input={file} onText={(text) => editDraft(key, text)} />
      {!readOnly && dirty && (
        <Button variant="ghost" onClick={discard}>
          {t("workflow.discard")}
        </Button>
      )}
      {!readOnly && (
        <Button
          variant="primary"
          keys="mod+s"
          disabled={!dirty || !state.parsed.ok}
          busy={state.isSaving}
          onClick={state.save}
        >
          {t("workflow.save")}
        </Button>
      )}
      {presets && (
        <PresetDialog
          current={state.workflow}
          onUse={(text) => editDraft(key, text)}
          onClose={() => setPresets(false)}
        />
      )}
    </div>
  );
}
