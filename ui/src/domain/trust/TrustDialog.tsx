/** The files that programs run code from as soon as they start: a look at each, and one word for all of them. */
import { FileDiff, FileMinus, FilePlus, FileText } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import type { TrustFile, TrustState } from "#ui/api/generated.ts";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { keyOf, linesOf, startOf } from "./files.ts";
import { Stack } from "#ui/components/Stack.tsx";
import styles from "./Trust.module.css";

const tones: Readonly<Record<TrustState, Tone>> = {
  accepted: "success",
  new: "warning",
  changed: "warning",
  removed: "danger",
};
const icons: Readonly<Record<TrustState, ReactNode>> = {
  accepted: <FileText />,
  new: <FilePlus />,
  changed: <FileDiff />,
  removed: <FileMinus />,
};

function Place({ file }: { file: TrustFile }) {
  const { t } = useTranslation();
  if (file.state === "removed") return t("trust.gone");
  if (file.commit === null) return t("trust.uncommitted");
  const commit = file.commit.slice(0, 10);
  return t(file.task_id === null ? "trust.onBranch" : "trust.onTask", { commit });
}

function Content({ file }: { file: TrustFile }) {
  const { t } = useTranslation();
  const lines = linesOf(file);
  if (lines === null) return <p className={styles.quiet}>{t("trust.noText")}</p>;
  return (
    <>
      <CodeBlock
        code={lines.map(({ text }) => text).join("\n")}
        caption={file.path}
        maxHeight={320}
      >
        {lines.map(({ text, kind }, index) => (
          // Lines of a text that is read anew as a whole.
          // oxlint-disable-next-line react/no-array-index-key
          <span key={index} className={styles.line} data-kind={kind}>
            {`${text}\n`}
          </span>
        ))}
      </CodeBlock>
      {file.cut && <p className={styles.quiet}>{t("trust.cut")}</p>}
    </>
  );
}

function Files({ files }: { files: readonly TrustFile[] }) {
  const { t } = useTranslation();
  const [chosen, setChosen] = useState<string | null>(null);
  const shown = files.find((file) => keyOf(file) === chosen) ?? startOf(files);
  if (!shown) return null;
  return (
    <>
      <ul className={styles.files} aria-label={t("trust.files")}>
        {files.map((file) => (
          <li key={keyOf(file)}>
            <button
              type="button"
              className={styles.file}
              aria-current={file === shown}
              onClick={() => setChosen(keyOf(file))}
            >
              <span className={styles.path}>{file.path}</span>
              <Badge tone={tones[file.state]} icon={icons[file.state]}>
                {t(`trust.state.${file.state}`)}
              </Badge>
            </button>
          </li>
        ))}
      </ul>
      <Stack as="section" gap={2} shrink aria-label={shown.path} aria-live="polite">
        <p className={styles.quiet}>
          <Place file={shown} />
        </p>
        <Content file={shown} />
      </Stack>
    </>
  );
}

export interface TrustDialogProps {
  readonly projectId: string;
  /** The task that waits; without, the whole project is looked at. */
  readonly taskId?: string;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

export function TrustDialog({ projectId, taskId, open, onOpenChange }: TrustDialogProps) {
  const { t } = useTranslation();
  const scope = { project_id: projectId, ...(taskId === undefined ? {} : { task_id: taskId }) };
  const listing = useOp("project_trust", scope, { enabled: open });
  const accept = useOpMutation("project_trust_accept", {
    onSuccess: () => onOpenChange(false),
    // What changed is to be looked at first.
    onError: () => void listing.refetch(),
  });
  const files = listing.data?.files ?? [];
  const asked = files.filter(({ accepted }) => !accepted);
  const change = (next: boolean) => {
    onOpenChange(next);
    accept.reset();
  };
  return (
    <Dialog
      // Shown once there is something to look at, so that focus starts there.
      open={open && (listing.data !== undefined || listing.error !== null)}
      onOpenChange={change}
      title={t("trust.title")}
      description={t("trust.text")}
      size="lg"
      actions={
        asked.length > 0 && (
          <>
            <Button variant="ghost" onClick={() => change(false)}>
              {t("action.cancel")}
            </Button>
            <Button
              variant="primary"
              busy={accept.isPending}
              onClick={() =>
                accept.mutate({
                  ...scope,
                  files: asked.map(({ path, sha256 }) => ({ path, sha256 })),
                })
              }
            >
              {t("trust.accept")}
            </Button>
          </>
        )
      }
    >
      {accept.error && (
        <Banner tone="danger" title={t("trust.notAccepted")}>
          {errorText(accept.error)}
        </Banner>
      )}
      {listing.error ? (
        <ErrorState
          title={t("trust.failed")}
          error={listing.error}
          onRetry={() => void listing.refetch()}
        />
      ) : files.length === 0 ? (
        <p>{t("trust.none")}</p>
      ) : (
        <Files files={files} />
      )}
    </Dialog>
  );
}
