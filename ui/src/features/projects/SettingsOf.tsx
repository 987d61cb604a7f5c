/** What the settings' pages of a project share: what is saved, what is written, and the one way in which it is saved. */
import { useRef, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { setQuery } from "#ui/app/router.ts";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { findingsOf } from "#ui/api/findings.ts";
import type { Project, SettingsView } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { ChangedElsewhere } from "#ui/components/ChangedElsewhere.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SaveBar } from "#ui/components/SaveBar.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { isWithin } from "#ui/draft/path.ts";
import { useDraftKeys } from "#ui/draft/useDraftKeys.ts";
import { SettingsProvider } from "./settingsContext.ts";
import type { PageId } from "./settingsPages.ts";
import { useSettingsSaving } from "./SettingsSaving.tsx";
import { troubleOf, wrongPathsIn, type Trouble } from "./settingsTrouble.ts";
import { settingsDraftKey, useSettingsDraft } from "./useSettingsDraft.ts";

interface SettingsOfProps {
  readonly project: Project;
  readonly page: PageId;
  /** The page has an editor with a draft of its own. */
  readonly ownEditor?: boolean;
  readonly children: ReactNode;
}

/** Which of the fields on the page are wrong as they are typed. */
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
  return { marked: wrong, mark };
}

/** Why what is written is not saved; undefined when nothing is in its way. */
function useSaid({ fields, messages }: Trouble, isRefused: boolean): string | undefined {
  const { t } = useTranslation();
  const said = [...(fields > 0 ? [t("saveBar.wrong", { count: fields })] : []), ...messages].join(
    " ",
  );
  if (said === "") return undefined;
  return isRefused ? t("saveBar.refused", { why: said }) : said;
}

function Loaded({
  project,
  page,
  saved,
  refetch,
  ownEditor = false,
  children,
}: SettingsOfProps & { saved: SettingsView; refetch: () => Promise<SettingsView | null> }) {
  const { t } = useTranslation();
  const saving = useSettingsSaving();
  const read = useOp("project_get", { project_id: project.id });
  // What an editor of its own saves, past the draft.
  const update = useOpMutation("project_settings_update", {
    onSuccess: () => void refetch(),
    onError: (error) => {
      // A finding is said at its field.
      if (findingsOf(error).length > 0) return;
      showToast({ tone: "danger", title: t("projectSettings.notSaved"), detail: error.message });
    },
  });
  const draft = useSettingsDraft({
    project,
    saved,
    putSettings: (change) => saving.settings.mutateAsync({ ...change, project_id: project.id }),
    putFacts: (change) => saving.project.mutateAsync({ ...change, project_id: project.id }),
    reread: async () => {
      const [settings, facts] = await Promise.all([refetch(), read.refetch()]);
      return settings && facts.data && !facts.isError ? [settings, facts.data] : null;
    },
  });
  const { isChanged, isStale, isSaving: busy } = draft;
  const { marked, mark } = useWrong();
  const wrong = [...new Set([...marked, ...wrongPathsIn(draft.view.settings, draft.changed)])];
  const isWrong = wrong.length > 0;
  const refused = { settings: saving.settings.error, project: saving.project.error };
  const trouble = troubleOf(wrong, isWrong ? { settings: null, project: null } : refused);
  const problem = useSaid(trouble, !isWrong);
  const choice = useRef<HTMLButtonElement>(null);
  const forget = () => {
    saving.settings.reset();
    saving.project.reset();
  };
  const save = () => {
    if (isStale) choice.current?.focus();
    else if (!isWrong && isChanged && !busy) {
      forget();
      void draft.save();
    }
  };
  const onKeyDown = useDraftKeys({
    key: settingsDraftKey(project.id),
    save,
    isOff: ownEditor,
    fieldsUndo: true,
  });
  const discard = () => {
    forget();
    draft.discard();
  };
  return (
    <SettingsProvider
      value={{
        view: draft.view,
        saved,
        facts: { values: draft.facts, error: saving.project.error },
        error: ownEditor ? update.error : saving.settings.error,
        busy,
        isChanged: (path) => draft.changed.some((each) => isWithin(each, path)),
        patch: draft.patch,
        isReset: draft.isReset,
        markWrong: mark,
        submit: save,
        save: (change) => update.mutateAsync({ ...change, project_id: project.id }),
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
            onKeep={draft.keep}
            onTake={draft.discard}
          />
        )}
        {children}
        {!ownEditor && isChanged && (
          <SaveBar
            busy={busy}
            isWrong={isWrong}
            problem={problem}
            onSave={save}
            onDiscard={discard}
          >
            {trouble.pages
              .filter((each) => each !== page)
              .map((each) => (
                <Button
                  key={each}
                  size="sm"
                  onClick={() => setQuery({ tab: each === "general" ? null : each, view: null })}
                >
                  {t("saveBar.open", { page: t(`projectSettings.tab.${each}`) })}
                </Button>
              ))}
          </SaveBar>
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
