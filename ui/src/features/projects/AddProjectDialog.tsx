import { FolderOpen } from "lucide-react";
import { useDeferredValue, useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import { navigate } from "#ui/app/router.ts";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { findingAt, restOf } from "#ui/api/findings.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { overlays } from "#ui/store/overlays.ts";
import { useEngine } from "#ui/domain/engine/engine.ts";
import { FolderChecks } from "./FolderChecks.tsx";
import { FolderDialog } from "./FolderDialog.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import styles from "./projects.module.css";

const fields = ["repo_path", "name", "default_branch"];
const formId = "add-project";

const lastPart = (path: string) =>
  path
    .replace(/[\\/]+$/, "")
    .split(/[\\/]/)
    .at(-1) ?? "";

export default function AddProjectDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const dropped = useStore(overlays, (state) => state.folder);
  const [path, setPath] = useState(dropped ?? "");
  const [name, setName] = useState("");
  const [branch, setBranch] = useState("");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const folder = useDeferredValue(path.trim());
  // A path that is being typed leads nowhere yet; that is said when the project is added.
  const asked = useOp("check_offers", { repo_path: folder }, { enabled: folder !== "" });
  const offers = (folder !== "" && asked.data?.items) || [];
  const create = useOpMutation("project_create", {
    onSuccess: ({ id }) => {
      onClose();
      navigate("board", { project: id });
    },
  });
  const { host } = useEngine();
  const [choosing, setChoosing] = useState(false);
  const pick = async () => {
    // Asked, since nothing is known of the engine yet when a window has just opened.
    if ((await platform.engine()).host !== null) {
      setChoosing(true);
      return;
    }
    const folder = await platform.pickFolder();
    if (folder !== null) setPath(folder);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const checks = offers.map(({ command }) => command).filter((command) => chosen.has(command));
    create.mutate({
      repo_path: path.trim(),
      ...(name.trim() ? { name: name.trim() } : {}),
      ...(branch.trim() ? { default_branch: branch.trim() } : {}),
      ...(checks.length > 0 ? { settings: { review_config: { ci_steps: checks } } } : {}),
    });
  };
  const rest = restOf(create.error, fields);
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("projects.addTitle")}
      description={host === null ? t("projects.addText") : t("projects.addTextThere", { host })}
      actions={
        <>
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button
            type="submit"
            form={formId}
            variant="primary"
            busy={create.isPending}
            disabled={path.trim() === ""}
          >
            {t("projects.addAction")}
          </Button>
        </>
      }
    >
      <Stack id={formId} as="form" gap={4} onSubmit={submit}>
        {rest && (
          <Banner tone="danger" title={t("projects.addFailed")}>
            {rest}
          </Banner>
        )}
        <div className={styles.path}>
          <TextField
            label={t("projects.path")}
            hint={t("projects.pathHint")}
            mono
            autoFocus
            value={path}
            error={findingAt(create.error, "repo_path")}
            onChange={setPath}
          />
          <Button icon={<FolderOpen />} onClick={() => void pick()}>
            {t("projects.choose")}
          </Button>
        </div>
        <TextField
          label={t("projects.name")}
          placeholder={lastPart(path)}
          value={name}
          error={findingAt(create.error, "name")}
          onChange={setName}
        />
        <TextField
          label={t("projects.branch")}
          placeholder={t("projects.branchPlaceholder")}
          mono
          value={branch}
          error={findingAt(create.error, "default_branch")}
          onChange={setBranch}
        />
        <FolderChecks offers={offers} chosen={chosen} onChange={setChosen} />
        {choosing && host !== null && (
          <FolderDialog
            host={host}
            onClose={() => setChoosing(false)}
            onChoose={(chosenPath) => {
              setPath(chosenPath);
              setChoosing(false);
            }}
          />
        )}
      </Stack>
    </Dialog>
  );
}
