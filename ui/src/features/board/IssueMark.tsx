import { GitCompareArrows } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { IssueLink } from "#ui/api/generated.ts";
import { issueIcons } from "#ui/domain/issues/icons.tsx";
import styles from "./Card.module.css";

/** Where a task was imported from, and whether a person must choose between its text and the issue's. */
export function IssueMark({ issue }: { issue: IssueLink }) {
  const { t } = useTranslation();
  const { kind, name, differs } = issue;
  const said = t(differs ? "board.differsFrom" : "board.importedFrom", { name });
  return (
    <span
      className={styles.issue}
      role="img"
      aria-label={said}
      title={said}
      data-differs={differs || undefined}
    >
      {issueIcons[kind]}
      {differs && <GitCompareArrows />}
    </span>
  );
}
