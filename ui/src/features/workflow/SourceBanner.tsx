import { useTranslation } from "react-i18next";
import { useOpMutation } from "#ui/api/client.ts";
import type { WorkflowView } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { sentence } from "#ui/draft/findings.ts";
import { Stack } from "#ui/components/Stack.tsx";

const short = (commit: string) => commit.slice(0, 9);

/** Where the workflow is defined, when that is not here. */
export function SourceBanner({ projectId, view }: { projectId: string; view: WorkflowView }) {
  const { t } = useTranslation();
  const update = useOpMutation("project_settings_update", {
    onError: (error) =>
      showToast({ tone: "danger", title: t("workflow.sourceFailed"), detail: error.message }),
  });
  const { source, origin } = view;
  if (source !== "repository") return null;
  const findings = origin?.findings ?? [];
  const isBroken = findings.length > 0;
  return (
    <Banner
      tone={isBroken ? "warning" : "info"}
      title={isBroken ? t("workflow.repositoryBroken") : t("workflow.fromRepository")}
      actions={
        <Button
          busy={update.isPending}
          onClick={() => update.mutate({ project_id: projectId, workflow_source: "project" })}
        >
          {t("workflow.editHere")}
        </Button>
      }
      evidence={
        isBroken && (
          <Stack as="ul" gap={1}>
            {findings.map(({ path, message }) => (
              <li key={path + message}>
                {path && <code>{path}</code>} {sentence(message)}
              </li>
            ))}
          </Stack>
        )
      }
    >
      {origin
        ? isBroken
          ? t("workflow.repositoryBrokenText", {
              commit: short(origin.commit),
              newer: short(origin.looked_at),
            })
          : t("workflow.fromRepositoryText", { commit: short(origin.commit) })
        : t("workflow.fromRepositoryNone")}
    </Banner>
  );
}
