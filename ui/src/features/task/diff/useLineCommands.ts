/** The command to comment the line that is pointed at. */
import { useEffect, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import { useCommands, type Command } from "#ui/app/keys.ts";

export function useLineCommands(comment: (() => void) | undefined): void {
  const { t } = useTranslation();
  const latest = useRef(comment);
  useEffect(() => {
    latest.current = comment;
  });
  const isPointedAt = comment !== undefined;
  const commands = useMemo<Command[]>(
    () => [
      {
        id: "diff.comment",
        label: t("comments.addToLine"),
        group: t("task.tab.diff"),
        keys: ["c"],
        enabled: isPointedAt,
        run: () => latest.current?.(),
      },
    ],
    [t, isPointedAt],
  );
  useCommands(commands);
}
