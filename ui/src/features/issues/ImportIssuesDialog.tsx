/** Imports issues of a code host or a file as tasks, and shows how far the import is. */
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import type { IssueImport } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { FormActions, ImportForm } from "./ImportForm.tsx";
import { ImportProgress } from "./ImportProgress.tsx";
import { isOpen } from "./progress.ts";
import { useImportForm } from "./useImportForm.ts";

/** One import as it is now, and its ways on. */
function useImport(started: IssueImport | null) {
  const input = { import_id: started?.id ?? "" };
  const read = useOp("issue_import_get", input, { enabled: started !== null });
  const stop = useOpMutation("issue_import_cancel");
  const resume = useOpMutation("issue_import_continue");
  return {
    found: started && (read.data ?? started),
    isStopping: stop.isPending,
    stop: () => {
      resume.reset();
      stop.mutate(input);
    },
    stopError: stop.error,
    isResuming: resume.isPending,
    resume: () => {
      stop.reset();
      resume.mutate(input);
    },
    resumeError: resume.error,
  };
}

type Watched = ReturnType<typeof useImport>;

function ImportActions({
  watched,
  found,
  onClose,
  onAgain,
}: {
  watched: Watched;
  found: IssueImport;
  onClose: () => void;
  onAgain: () => void;
}) {
  const { t } = useTranslation();
  const { status } = found;
  return (
    <>
      {isOpen(found) ? (
        <Button key="stop" busy={watched.isStopping} onClick={watched.stop}>
          {t("issues.stop")}
        </Button>
      ) : (
        <Button key="again" onClick={onAgain}>
          {t("issues.again")}
        </Button>
      )}
      {status === "waiting" || status === "failed" ? (
        <Button key="continue" variant="primary" busy={watched.isResuming} onClick={watched.resume}>
          {t("issues.continue")}
        </Button>
      ) : (
        <Button key="close" variant="primary" onClick={onClose}>
          {t("action.close")}
        </Button>
      )}
    </>
  );
}

function ActionFailures({ stopError, resumeError }: Watched) {
  const { t } = useTranslation();
  return (
    <>
      {stopError && (
        <Banner tone="danger" title={t("issues.notStopped")}>
          {errorText(stopError)}
        </Banner>
      )}
      {resumeError && (
        <Banner tone="danger" title={t("issues.notContinued")}>
          {errorText(resumeError)}
        </Banner>
      )}
    </>
  );
}

export default function ImportIssuesDialog({
  projectId,
  onClose,
}: {
  projectId: string;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const imports = useOp("issue_imports", { project_id: projectId }, { fresh: true });
  // One that is looked at stays in sight beyond its end.
  const [shown, setShown] = useState<IssueImport | null>(null);
  const [isKnown, setKnown] = useState(false);
  const isRead = !imports.isFetching && (imports.data !== undefined || imports.error !== null);
  if (!isKnown && isRead) {
    const latest = imports.data?.items[0];
    setKnown(true);
    if (latest && isOpen(latest)) setShown(latest);
  }
  const form = useImportForm(projectId, isKnown && shown === null, setShown);
  const watched = useImport(shown);
  const { found } = watched;
  const content = useRef<HTMLDivElement>(null);
  // A button can go while it has the focus, and not every browser gives that to the dialog then.
  useEffect(() => {
    if (document.activeElement === document.body) content.current?.focus();
  });
  return (
    <Dialog
      open
      size="lg"
      onOpenChange={(open) => !open && onClose()}
      title={t("issues.title")}
      actions={
        found ? (
          <ImportActions
            watched={watched}
            found={found}
            onClose={onClose}
            onAgain={() => {
              setShown(null);
              // Issues of the list have become tasks.
              form.list.refresh();
            }}
          />
        ) : (
          isKnown && <FormActions form={form} onClose={onClose} />
        )
      }
    >
      {found ? (
        <>
          <ActionFailures {...watched} />
          <ImportProgress ref={content} found={found} />
        </>
      ) : isKnown ? (
        <ImportForm
          ref={content}
          form={form}
          last={imports.data?.items[0] ?? null}
          onShow={setShown}
          onLeave={onClose}
        />
      ) : (
        <div aria-busy>
          <SkeletonText lines={6} />
        </div>
      )}
    </Dialog>
  );
}
