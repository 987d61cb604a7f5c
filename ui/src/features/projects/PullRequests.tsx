/** Pull requests of a project: whether there are any, at which host, and whether that can be used. */
import { CircleCheck, GitPullRequest, KeyRound } from "lucide-react";
import { useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import { findingAt } from "#ui/api/findings.ts";
import type { HostConfig, HostKind, HostStanding, Project } from "#ui/api/generated.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Select } from "#ui/components/Select.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { draftOf, hostKinds, settingOf, usualAddress, type HostDraft } from "./codeHost.ts";
import { onEnter } from "./onEnter.ts";
import { useSettings } from "./settingsContext.ts";
import { useEdited } from "./useEdited.ts";
import { WorkModeSetting } from "./WorkModeSetting.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./settings.module.css";

const path = "code_host";

/** What the git remotes name, for one press. */
function Suggestion({ host, onUse }: { host: HostConfig; onUse: () => void }) {
  const { t } = useTranslation();
  const { busy } = useSettings();
  return (
    <div className={styles.suggestion}>
      <Banner
        tone="info"
        icon={<GitPullRequest />}
        title={t("codeHost.found")}
        actions={
          <Button size="sm" busy={busy} onClick={onUse}>
            {t("codeHost.use")}
          </Button>
        }
      >
        {t("codeHost.foundText", {
          kind: t(`codeHost.kinds.${host.kind}`),
          owner: host.owner,
          repo: host.repo,
          remote: host.remote ?? "origin",
        })}
      </Banner>
    </div>
  );
}

function HostFields({ shown, isOwn }: { shown: HostDraft; isOwn: boolean }) {
  const { t } = useTranslation();
  const { error, busy, patch, submit } = useSettings();
  const { typed: draft, set: setDraft } = useEdited<HostDraft>({
    path,
    shown,
    said: settingOf,
  });
  const atPart = (part: "owner" | "repo") =>
    findingAt(error, `${path}.${part}`) ??
    (isOwn && draft[part].trim() === "" ? t("codeHost.required") : undefined);
  const set = (change: Partial<HostDraft>) => setDraft({ ...draft, ...change });
  const parts = ["kind", "base_url", "owner", "repo", "remote"];
  const inFields = parts.some((part) => findingAt(error, `${path}.${part}`));
  const rest = inFields ? undefined : findingAt(error, path);
  return (
    <div className={styles.host}>
      <Select<HostKind>
        label={t("codeHost.kind")}
        value={draft.kind}
        options={hostKinds.map((value) => ({ value, label: t(`codeHost.kinds.${value}`) }))}
        onChange={(kind) => set({ kind })}
      />
      <TextField
        label={t("codeHost.url")}
        hint={t("codeHost.urlHint", { address: usualAddress[draft.kind] })}
        mono
        placeholder={usualAddress[draft.kind]}
        value={draft.url}
        error={findingAt(error, `${path}.base_url`)}
        onKeyDown={onEnter(submit)}
        onChange={(url) => set({ url })}
      />
      <TextField
        label={t("codeHost.owner")}
        hint={t("codeHost.ownerHint")}
        mono
        value={draft.owner}
        error={atPart("owner")}
        onKeyDown={onEnter(submit)}
        onChange={(owner) => set({ owner })}
      />
      <TextField
        label={t("codeHost.repo")}
        mono
        value={draft.repo}
        error={atPart("repo")}
        onKeyDown={onEnter(submit)}
        onChange={(repo) => set({ repo })}
      />
      <TextField
        label={t("codeHost.remote")}
        hint={t("codeHost.remoteHint")}
        mono
        value={draft.remote}
        error={findingAt(error, `${path}.remote`)}
        onKeyDown={onEnter(submit)}
        onChange={(remote) => set({ remote })}
      />
      {rest && <p className={styles.error}>{rest}</p>}
      {isOwn && (
        <div className={styles.buttons}>
          <Button disabled={busy} onClick={() => patch({ [path]: null })}>
            {t("codeHost.clear")}
          </Button>
        </div>
      )}
    </div>
  );
}

function Host({ standing }: { standing: HostStanding | undefined }) {
  const { t } = useTranslation();
  const { view, patch } = useSettings();
  const own = view.settings.code_host ?? null;
  const guessed = standing && !standing.configured ? standing.host : null;
  return (
    <div className={styles.card} role="group" aria-label={t("codeHost.title")}>
      {!own && guessed && (
        <Suggestion host={guessed} onUse={() => patch({ [path]: settingOf(draftOf(guessed)) })} />
      )}
      {!own && standing && !standing.host && (
        <p className={styles.nothing}>{t("codeHost.nothing")}</p>
      )}
      <div className={styles.setting}>
        <div className={layout.fillNarrow}>
          <HostFields shown={draftOf(own ?? guessed)} isOwn={own !== null} />
        </div>
      </div>
    </div>
  );
}

function Standing({ standing, onAsk }: { standing: HostStanding; onAsk: () => void }) {
  const { t } = useTranslation();
  const { token, reachable, problem, remedy } = standing;
  const place =
    token === "keychain" || token === "gh" ? t(`codeHost.places.${token}`) : (token ?? "");
  const again = (
    <Button size="sm" onClick={onAsk}>
      {t("codeHost.askAgain")}
    </Button>
  );
  return (
    <div className={styles.setting}>
      <div className={layout.fillNarrow}>
        <Stack gap={3}>
          {problem === null && reachable ? (
            <div className={styles.ready} data-tone="success">
              <CircleCheck aria-hidden />
              <span>{t("codeHost.ready")}</span>
              {again}
            </div>
          ) : (
            <Banner
              tone="warning"
              title={t(token !== null && !reachable ? "codeHost.notReachable" : "codeHost.problem")}
              actions={again}
            >
              {problem} {remedy}
            </Banner>
          )}
          <span className={layout.note}>
            {token === null ? t("codeHost.tokenNone") : t("codeHost.tokenFrom", { place })}
          </span>
        </Stack>
      </div>
    </div>
  );
}

function Token({ project, standing }: { project: Project; standing: HostStanding }) {
  const { t } = useTranslation();
  const [token, setToken] = useState("");
  const [asking, setAsking] = useState(false);
  const keep = useOpMutation("code_host_token_put", {
    onSuccess: () => {
      setToken("");
      showToast({ tone: "success", title: t("codeHost.tokenSaved") });
    },
  });
  const forget = useOpMutation("code_host_token_forget", { onSuccess: () => setAsking(false) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim() !== "") keep.mutate({ project_id: project.id, token: token.trim() });
  };
  return (
    <form className={styles.setting} onSubmit={submit}>
      <div className={layout.fillNarrow}>
        <Stack gap={3}>
          {keep.error && (
            <Banner tone="danger" title={t("codeHost.tokenFailed")}>
              {errorText(keep.error)}
            </Banner>
          )}
          <TextField
            type="password"
            label={t("codeHost.token")}
            hint={t("codeHost.tokenHint")}
            icon={<KeyRound />}
            mono
            autoComplete="new-password"
            value={token}
            onChange={setToken}
          />
          <div className={styles.buttons}>
            {token.trim() !== "" && (
              <Button type="submit" variant="primary" busy={keep.isPending}>
                {t("codeHost.tokenSave")}
              </Button>
            )}
            {standing.token === "keychain" && (
              <Button onClick={() => setAsking(true)}>{t("codeHost.forget")}</Button>
            )}
          </div>
        </Stack>
      </div>
      <AlertDialog
        open={asking}
        onOpenChange={(open) => {
          setAsking(open);
          forget.reset();
        }}
        danger
        busy={forget.isPending}
        title={t("codeHost.forgetTitle")}
        description={t("codeHost.forgetText")}
        confirmLabel={t("codeHost.forget")}
        onConfirm={() => forget.mutate({ project_id: project.id })}
      >
        {forget.error && (
          <Banner tone="danger" title={t("codeHost.forgetFailed")}>
            {errorText(forget.error)}
          </Banner>
        )}
      </AlertDialog>
    </form>
  );
}

export function PullRequests({ project }: { project: Project }) {
  const { t } = useTranslation();
  const answer = useOp("project_code_host", { project_id: project.id });
  const standing = answer.data;
  const ask = () => void answer.refetch();
  return (
    <>
      <WorkModeSetting />
      <h2 className={styles.heading}>{t("codeHost.title")}</h2>
      <Host standing={standing} />
      {answer.error ? (
        <ErrorState title={t("codeHost.standingFailed")} error={answer.error} onRetry={ask} />
      ) : !standing ? (
        <SkeletonText lines={3} />
      ) : (
        standing.host && (
          <div className={styles.card} role="group" aria-label={t("codeHost.standing")}>
            <Standing standing={standing} onAsk={ask} />
            <Token project={project} standing={standing} />
          </div>
        )
      )}
    </>
  );
}
