/** What the next run would be told, layer by layer. */
import { ChevronRight } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Layer } from "#ui/api/generated.ts";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./PromptLayers.module.css";

function LayerPart({ layer }: { layer: Layer }) {
  const { t } = useTranslation();
  const text = layer.text.trim();
  const lines = text.split("\n").length;
  return (
    <details className={styles.layer} open>
      <summary className={styles.summary}>
        <ChevronRight aria-hidden />
        <span className={styles.name}>{t(`prompt.layer.${layer.kind}`)}</span>
        <span className={layout.note}>{t("prompt.lines", { count: lines })}</span>
      </summary>
      <CodeBlock code={text} wrap />
    </details>
  );
}

export function PromptLayers({ taskId }: { taskId: string }) {
  const { t } = useTranslation();
  const prompt = useOp("task_prompt_preview", { task_id: taskId });
  if (prompt.error) {
    return (
      <ErrorState
        title={t("task.promptFailed")}
        error={prompt.error}
        onRetry={() => void prompt.refetch()}
      />
    );
  }
  if (!prompt.data) return <SkeletonText lines={8} />;
  return (
    <div className={styles.prompt}>
      <div className={styles.bar}>
        <span>{t("prompt.characters", { count: prompt.data.text.length })}</span>
        <CopyButton text={prompt.data.text} label={t("prompt.copy")} />
      </div>
      {prompt.data.layers.map((layer, index) => (
        <LayerPart key={index} layer={layer} />
      ))}
    </div>
  );
}
