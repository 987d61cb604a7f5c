import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Preset, Workflow } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { differenceOf } from "./definition.ts";
import { tidy } from "./definition.ts";
import { textOf } from "./useWorkflowDraft.ts";
import { Stack } from "#ui/components/Stack.tsx";
import styles from "./workflow.module.css";

function Changes({ current, preset }: { current: Workflow | null; preset: Preset }) {
  const { t } = useTranslation();
  if (!current) return null;
  const to = tidy(preset.workflow) as Workflow;
  const difference = differenceOf(tidy(current) as Workflow, to);
  const parts = (["added", "removed", "changed"] as const).filter(
    (part) => difference[part].length > 0,
  );
  if (parts.length === 0) return <Badge look="outline">{t("workflow.sameStates")}</Badge>;
  return (
    <ul className={styles.changes}>
      {parts.map((part) => (
        <li key={part}>
          {t(`workflow.presetChanges.${part}`, { names: difference[part].join(", ") })}
        </li>
      ))}
    </ul>
  );
}

/** What a project can start from, and what would change. It becomes the draft, nothing is saved. */
export function PresetDialog({
  current,
  onUse,
  onClose,
}: {
  current: Workflow | null;
  onUse: (text: string) => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const presets = useOp("workflow_presets", {});
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("workflow.presets")}
      description={t("workflow.presetsText")}
    >
      {presets.error && (
        <ErrorState
          title={t("workflow.presetsFailed")}
          error={presets.error}
          onRetry={() => void presets.refetch()}
        />
      )}
      {!presets.data && !presets.error && <SkeletonText lines={6} />}
      <Stack as="ul">
        {presets.data?.items.map((preset) => (
          <li key={preset.name} className={styles.preset}>
            <div className={styles.presetText}>
              <h3>{preset.title}</h3>
              <p className={styles.hint}>{preset.about}</p>
              <Changes current={current} preset={preset} />
            </div>
            <Button
              size="sm"
              aria-label={t("workflow.usePreset", { name: preset.title })}
              onClick={() => {
                onUse(textOf(preset.workflow));
                onClose();
              }}
            >
              {t("workflow.use")}
            </Button>
          </li>
        ))}
      </Stack>
    </Dialog>
  );
}
