/** Files that wait for the next message to a task's agent. The engine keeps them from the moment they are added. */
import { useCallback, useState } from "react";
import { useTranslation } from "react-i18next";
import { call, useOp } from "#ui/api/client.ts";
import { ApiError } from "#ui/api/error.ts";
import type { Attachment } from "#ui/api/generated.ts";
import { bytes } from "#ui/domain/size.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { contentOf, fits, maxFileBytes, nameOf } from "./files.ts";

export interface Attachments {
  readonly files: readonly Attachment[];
  /** Names of those that are being kept. */
  readonly arriving: readonly string[];
  readonly error: ApiError | null;
  readonly dismiss: () => void;
  readonly add: (files: readonly File[]) => Promise<void>;
  /** Files of this machine, by their paths. */
  readonly addPaths: (paths: readonly string[]) => Promise<void>;
  readonly remove: (id: string) => Promise<void>;
}

const none: readonly Attachment[] = [];

export function useAttachments(task: string): Attachments {
  const { t } = useTranslation();
  const platform = usePlatform();
  const { data, refetch } = useOp("attachment_list", { task_id: task });
  const [arriving, setArriving] = useState<readonly string[]>([]);
  const [error, setError] = useState<ApiError | null>(null);
  const dismiss = useCallback(() => setError(null), []);

  const attempt = useCallback(
    async (name: string, deed: () => Promise<unknown>) => {
      setArriving((names) => [...names, name]);
      await deed().catch((thrown: unknown) => setError(ApiError.from(thrown)));
      await refetch();
      setArriving((names) => names.toSpliced(names.indexOf(name), 1));
    },
    [refetch],
  );

  const add = useCallback(
    async (files: readonly File[]) => {
      setError(null);
      for (const file of files) {
        const name = nameOf(file);
        if (!fits(file)) {
          const sizes = { name, size: bytes(file.size), most: bytes(maxFileBytes) };
          setError(ApiError.from(new Error(t("conversation.fileTooLarge", sizes))));
          continue;
        }
        // One after the other: no more than one is ever held as text.
        // oxlint-disable-next-line no-await-in-loop
        await attempt(name, async () =>
          call(platform, "attachment_add", { task_id: task, name, data: await contentOf(file) }),
        );
      }
    },
    [attempt, platform, task, t],
  );
  const addPaths = useCallback(
    async (paths: readonly string[]) => {
      setError(null);
      for (const path of paths) {
        const name = path.split(/[/\\]/).at(-1) ?? path;
        // oxlint-disable-next-line no-await-in-loop
        await attempt(name, () => call(platform, "attachment_add", { task_id: task, path }));
      }
    },
    [attempt, platform, task],
  );
  const remove = useCallback(
    async (id: string) => {
      setError(null);
      const removal = call(platform, "attachment_remove", { attachment_id: id });
      await removal.catch((thrown: unknown) => setError(ApiError.from(thrown)));
      await refetch();
    },
    [platform, refetch],
  );
  return { files: data?.items ?? none, arriving, error, dismiss, add, addPaths, remove };
}
