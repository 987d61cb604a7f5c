/** What the settings' pages of a project share: what is saved, what is written, and the one way in which it is saved. */
import { useRef, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { findingsOf } from "#ui/api/findings.ts";
import type { Project, SettingsView } from "#ui/api/generated.ts";
import { ChangedElsewhere } from "#ui/components/ChangedElsewhere.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SaveBar } from "#ui/components/SaveBar.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { useDraftKeys } from "#ui/draft/useDraftKeys.ts";
import { useLeaveNotice } from "#ui/draft/useLeaveNotice.ts";
import { SettingsProvider } from "./settingsContext.ts";
import { useProjectDraft } from "./useProjectDraft.ts";
import { settingsDraftKey, useSettingsDraft } from "./useSettingsDraft.ts";

interface SettingsOfProps {
  readonly project: Project;
  /** The page has an editor with a draft of its own. */
  readonly ownEditor?: boolean;
  readonly children: ReactNode;
}

/** Which of the fields are wrong as they are written. */
function useWrong() {
  const [wrong, setWrong] = useState<ReadonlySet<string>>(new Set());
  const mark = (path: string, isWrong: boolean) =>
    setWrong((before) => {
      if (before.has(path) === isWrong) return before;
      const next = new Set(before);
      if (isWrong) next.add(path);
      else next.delete(path);
      return next;
    });
  return { isWrong: wrong.size > 0, mark };
}

function Loaded({
  project,
  saved,
  refetch,
  ownEditor = false,
  children,
}: SettingsOfProps & { saved: SettingsView; refetch: () => Promise<SettingsView | null> }) {
  const { t } = useTranslation();
  const update = useOpMutation("project_settings_update", {
    onSuccess: () => void refetch(),
    onError: (error) => {
      // A finding is said at its field.
      if (findingsOf(error).length > 0) return;
      showToast({ tone: "danger", title: t("projectSettings.notSaved"), detail: error.message });
    },
  });
  const put = (change: { readonly [key: string]: unknown }) =>
    update.mutateAsync({ ...change, project_id: project.id });
  const key = settingsDraftKey(project.id);
  const settings = useSettingsDraft({ projectId: project.id, saved, put, reread: refetch });
  const facts = useProjectDraft(project);
  useLeaveNotice(key, "projectSettings.kept");
  const { isWrong, mark } = useWrong();
  const choice = useRef<HTMLButtonElement>(null);
  const both = [settings, facts];
  const isStale = both.some((draft) => draft.isStale);
  const isChanged = both.some((draft) => draft.isChanged);
  const busy = both.some((draft) => draft.isSaving);
  const save = () => {
    if (isStale) choice.current?.focus();
    else if (!isWrong) for (const draft of both) if (draft.isChanged) void draft.save();
  };
  const onKeyDown = useDraftKeys({ key, save, isOff: ownEditor });
  const discard = () => {
    update.reset();
    for (const draft of both) draft.discard();
  };
  return (
    <SettingsProvider
      value={{
        view: settings.view,
        saved,
        facts,
        error: update.error,
        busy,
        patch: settings.patch,
        isReset: settings.isReset,
        markWrong: mark,
        submit: save,
        save: put,
        reread: refetch,
      }}
    >
      {/* Keys of the draft, whatever of the page has the focus. */}
      {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions */}
      <div onKeyDown={onKeyDown}>
        {!ownEditor && isStale && (
          <ChangedElsewhere
            ref={choice}
            title={t("projectSettings.changedElsewhere")}
            onKeep={() => {
              for (const draft of both) if (draft.isStale) draft.keep();
            }}
            onTake={() => {
              for (const draft of both) if (draft.isStale) draft.discard();
            }}
          />
        )}
        {children}
        {!ownEditor && isChanged && (
          <SaveBar busy={busy} isWrong={isWrong} onSave={save} onDiscard={discard} />
        )}
      </div>
    </SettingsProvider>
  );
}

export function SettingsOf(props: SettingsOfProps) {
  const { t } = useTranslation();
  const read = useOp("project_settings_get", { project_id: props.project.id });
  // What was read once is edited on, also while it cannot be read again.
  if (read.error && !read.data) {
    return (
      <ErrorState
        title={t("projectSettings.failed")}
        error={read.error}
        onRetry={() => void read.refetch()}
      />
    );
  }
  if (!read.data) return <SkeletonText lines={6} />;
  const refetch = () =>
    read.refetch().then(({ data, isError }) => (data && !isError ? data : null));
  return <Loaded {...props} saved={read.data} refetch={refetch} />;
}
