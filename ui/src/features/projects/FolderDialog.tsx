/** Chooses a folder of the engine's computer, which the desktop here cannot show. */
import { CornerLeftUp, Folder, FolderGit2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { errorText } from "#ui/api/error.ts";
import styles from "./projects.module.css";

export interface FolderDialogProps {
  readonly host: string;
  readonly onClose: () => void;
  readonly onChoose: (path: string) => void;
}

export function FolderDialog({ host, onClose, onChoose }: FolderDialogProps) {
  const { t } = useTranslation();
  const [path, setPath] = useState<string | null>(null);
  const { data, error } = useOp("folder_list", path === null ? {} : { path });
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("engine.folderTitle", { host })}
      description={data?.path ?? path ?? t("engine.folderLoading")}
      actions={
        <>
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button variant="primary" disabled={!data} onClick={() => data && onChoose(data.path)}>
            {t("engine.folderChoose")}
          </Button>
        </>
      }
    >
      {error && (
        <Banner tone="danger" title={t("engine.folderFailed")}>
          {errorText(error)}
        </Banner>
      )}
      {!data && !error && <SkeletonText lines={4} />}
      {data && (
        <ul className={styles.folders} aria-label={t("engine.folders")}>
          {data.parent != null && (
            <li>
              <Button
                variant="ghost"
                icon={<CornerLeftUp />}
                onClick={() => setPath(data.parent ?? null)}
              >
                {t("engine.folderUp")}
              </Button>
            </li>
          )}
          {data.folders.map((folder) => (
            <li key={folder.path}>
              <Button
                variant="ghost"
                icon={folder.is_repository ? <FolderGit2 /> : <Folder />}
                onClick={() =>
                  folder.is_repository ? onChoose(folder.path) : setPath(folder.path)
                }
              >
                {folder.name}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {data?.truncated && <p>{t("engine.folderTruncated")}</p>}
    </Dialog>
  );
}
