import { useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { navigate } from "#ui/app/router.ts";
import { useOpMutation } from "#ui/api/client.ts";
import { findingAt, restOf } from "#ui/api/findings.ts";
import type { OrphanFolder, Project } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { Select } from "#ui/components/Select.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";

const fields = ["project_id", "title"];

/** Which project and which title the task gets that takes the folder over. */
export function AdoptDialog({
  orphan,
  projects,
  onClose,
}: {
  orphan: OrphanFolder;
  projects: readonly Project[];
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [project, setProject] = useState(orphan.project_id ?? projects[0]?.id ?? "");
  const [title, setTitle] = useState("");
  const adopt = useOpMutation("orphan_adopt", {
    onSuccess: (task) => {
      onClose();
      showToast({
        tone: "success",
        title: t("workspaces.adopted", { number: task.number }),
        action: {
          label: t("workspaces.openTask"),
          onSelect: () =>
            navigate("task", { project: task.project_id, number: String(task.number) }),
        },
      });
    },
  });
  const submit = () => {
    if (adopt.isPending || project === "") return;
    adopt.mutate({
      path: orphan.path,
      project_id: project,
      ...(title.trim() === "" ? {} : { title: title.trim() }),
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  const rest = restOf(adopt.error, fields);
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("workspaces.adoptTitle")}
      description={
        <span className={layout.anywhere}>
          {t("workspaces.adoptText")} <code>{orphan.path}</code>
        </span>
      }
      actions={
        <>
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button
            variant="primary"
            disabled={project === ""}
            busy={adopt.isPending}
            onClick={submit}
          >
            {t("workspaces.adoptAction")}
          </Button>
        </>
      }
    >
      <Stack gap={4}>
        {rest && (
          <Banner tone="danger" title={t("workspaces.notAdopted")}>
            {rest}
          </Banner>
        )}
        <TextField
          autoFocus
          label={t("workspaces.adoptName")}
          hint={t("workspaces.adoptNameHint")}
          placeholder={orphan.branch ?? ""}
          value={title}
          error={findingAt(adopt.error, "title")}
          onChange={setTitle}
          onKeyDown={onKeyDown}
        />
        <Select
          label={t("workspaces.adoptProject")}
          value={project}
          options={projects.map(({ id, name }) => ({ value: id, label: name }))}
          onChange={setProject}
        />
      </Stack>
    </Dialog>
  );
}
