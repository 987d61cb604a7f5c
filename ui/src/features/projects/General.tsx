import { useState } from "react";
import { useTranslation } from "react-i18next";
import { navigate } from "#ui/app/router.ts";
import { TrustDialog } from "#ui/domain/trust/TrustDialog.tsx";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import { findingAt } from "#ui/api/findings.ts";
import type { Project } from "#ui/api/generated.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Badge } from "#ui/components/Badge.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Switch } from "#ui/components/Switch.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { dropDraft } from "#ui/draft/drafts.ts";
import { draftKeysOf } from "./draftKeys.ts";
import { onEnter } from "./onEnter.ts";
import { useSettings } from "./settingsContext.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./settings.module.css";

function NameAndBranch({ project }: { project: Project }) {
  const { t } = useTranslation();
  const { facts, patch, submit } = useSettings();
  const { values, error } = facts;
  const set = (change: Partial<typeof values>) => patch({ project: change });
  return (
    <div className={styles.setting}>
      <Stack gap={3}>
        <TextField
          label={t("projects.name")}
          value={values.name}
          error={findingAt(error, "name")}
          onKeyDown={onEnter(submit)}
          onChange={(name) => set({ name })}
        />
        <TextField
          label={t("projects.branch")}
          hint={t("projectSettings.branchHint")}
          mono
          value={values.default_branch}
          error={findingAt(error, "default_branch")}
          onKeyDown={onEnter(submit)}
          onChange={(default_branch) => set({ default_branch })}
        />
        <Stack gap={0} shrink>
          <span className={styles.label}>{t("projects.path")}</span>
          <code className={styles.path} data-selectable>
            {project.repo_path}
          </code>
        </Stack>
      </Stack>
    </div>
  );
}

function Remove({ project }: { project: Project }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const remove = useOpMutation("project_delete", {
    onSuccess: () => {
      for (const key of draftKeysOf(project.id)) dropDraft(key);
      navigate("home");
    },
  });
  return (
    <div className={styles.head}>
      <Stack as="span" gap={0} shrink>
        {t("projectSettings.delete")}
        <span className={layout.note}>{t("projectSettings.deleteHint")}</span>
      </Stack>
      <Button variant="danger" onClick={() => setOpen(true)}>
        {t("projectSettings.delete")}
      </Button>
      <AlertDialog
        open={open}
        onOpenChange={(next) => {
          setOpen(next);
          setTyped("");
          remove.reset();
        }}
        danger
        busy={remove.isPending}
        title={t("projectSettings.deleteTitle", { name: project.name })}
        description={t("projectSettings.deleteText")}
        confirmLabel={t("projectSettings.delete")}
        onConfirm={() => {
          if (typed.trim() === project.name) {
            remove.mutate({ project_id: project.id, confirm: typed.trim() });
          }
        }}
      >
        <Stack gap={3}>
          <TextField
            label={t("projectSettings.deleteConfirm", { name: project.name })}
            value={typed}
            error={
              typed !== "" && !project.name.startsWith(typed.trim())
                ? t("projectSettings.deleteMismatch")
                : undefined
            }
            onChange={setTyped}
          />
          {remove.error && (
            <Banner tone="danger" title={t("projectSettings.notDeleted")}>
              {errorText(remove.error)}
            </Banner>
          )}
        </Stack>
      </AlertDialog>
    </div>
  );
}

function StartupFiles({ project }: { project: Project }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const listing = useOp("project_trust", { project_id: project.id }).data;
  return (
    <div className={styles.head}>
      <Stack as="span" gap={0} shrink>
        <span>
          {t("trust.setting")}{" "}
          {listing?.trusted === false && <Badge tone="warning">{t("trust.waits")}</Badge>}
        </span>
        <span className={layout.note}>{t("trust.settingHint")}</span>
      </Stack>
      <Button onClick={() => setOpen(true)}>{t("trust.look")}</Button>
      <TrustDialog projectId={project.id} open={open} onOpenChange={setOpen} />
    </div>
  );
}

/** A pause holds at once: it is a deed, and no setting that could wait for others. */
function Pause({ project }: { project: Project }) {
  const { t } = useTranslation();
  const pause = useOpMutation("project_pause");
  const resume = useOpMutation("project_resume");
  const failed = pause.error ?? resume.error;
  return (
    <div className={styles.setting}>
      <div className={layout.fillNarrow}>
        <Stack gap={3}>
          {failed && (
            <Banner
              tone="danger"
              title={t(pause.error ? "projectSettings.notPaused" : "projectSettings.notResumed")}
            >
              {errorText(failed)}
            </Banner>
          )}
          <Switch
            label={t("projectSettings.paused")}
            hint={t("projectSettings.pausedHint")}
            disabled={pause.isPending || resume.isPending}
            checked={project.paused}
            onChange={(paused) => {
              pause.reset();
              resume.reset();
              (paused ? pause : resume).mutate({ project_id: project.id });
            }}
          />
        </Stack>
      </div>
    </div>
  );
}

export function General({ project }: { project: Project }) {
  return (
    <>
      <div className={styles.card}>
        <NameAndBranch project={project} />
        <Pause project={project} />
      </div>
      <div className={styles.card}>
        <StartupFiles project={project} />
      </div>
      <div className={styles.card}>
        <Remove project={project} />
      </div>
    </>
  );
}
