/** What is shown of the changes and how, and the steps through them. */
import {
  ArrowDown,
  ArrowUp,
  ChevronDown,
  ChevronUp,
  CircleAlert,
  ChevronsDown,
  ChevronsUp,
  Columns2,
  File,
  History,
  PanelLeft,
  Rows2,
  Search,
} from "lucide-react";
import { useTranslation } from "react-i18next";
import type { DiffSummary, Scope } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { DiffCount } from "#ui/components/DiffCount.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { Select } from "#ui/components/Select.tsx";
import { setPreference, usePreference } from "#ui/store/preferences.ts";
import type { Problems } from "./useProblems.ts";
import type { Navigation } from "./useNavigation.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./DiffTab.module.css";

const scopes: readonly Scope[] = ["task", "uncommitted", "turn", "since_review"];

export function DiffBar({
  summary,
  isWhole,
  scope,
  onScope,
  treeOpen,
  onTree,
  navigation,
  problems,
  fresh,
  onlyFresh,
  onFresh,
  findOpen,
  onFind,
}: {
  summary: DiffSummary | undefined;
  /** There is nothing to choose: all that was done is looked at. */
  isWhole: boolean;
  scope: Scope;
  onScope: (scope: Scope) => void;
  treeOpen: boolean;
  onTree: () => void;
  navigation: Navigation;
  problems: Problems;
  /** How many files changed since the last look. */
  fresh: number;
  onlyFresh: boolean;
  onFresh: (only: boolean) => void;
  findOpen: boolean;
  onFind: (open: boolean) => void;
}) {
  const { t } = useTranslation();
  const diffStyle = usePreference("diffStyle");
  const isOne = usePreference("diffOneFile");
  return (
    <div className={styles.bar}>
      <IconButton
        label={t("diff.fileList")}
        icon={<PanelLeft />}
        size="sm"
        pressed={treeOpen}
        onClick={onTree}
      />
      {!isWhole && (
        <div className={styles.scope}>
          <Select
            size="sm"
            hideLabel
            label={t("diff.scopeLabel")}
            value={scope}
            options={scopes.map((value) => ({ value, label: t(`diff.scope.${value}`) }))}
            onChange={onScope}
          />
        </div>
      )}
      {summary && (
        <span className={styles.total}>
          {t("diff.files", { count: summary.files.length })}
          <DiffCount added={summary.added} removed={summary.removed} />
        </span>
      )}
      {fresh > 0 && (
        <Button
          size="sm"
          variant={onlyFresh ? "secondary" : "ghost"}
          icon={<History />}
          aria-pressed={onlyFresh}
          onClick={() => onFresh(!onlyFresh)}
        >
          {t("diff.sinceLook.files", { count: fresh })}
        </Button>
      )}
      <span className={layout.fill} />
      {problems.count > 0 && (
        <span className={styles.problems}>
          <CircleAlert aria-hidden />
          {t("diff.problems.count", { count: problems.count })}
          <IconButton
            label={t("diff.problems.previous")}
            icon={<ChevronUp />}
            size="sm"
            keys="["
            onClick={problems.previous}
          />
          <IconButton
            label={t("diff.problems.next")}
            icon={<ChevronDown />}
            size="sm"
            keys="]"
            onClick={problems.next}
          />
        </span>
      )}
      <IconButton
        label={t("diff.previousChange")}
        icon={<ArrowUp />}
        size="sm"
        keys="k"
        onClick={navigation.previousChange}
      />
      <IconButton
        label={t("diff.nextChange")}
        icon={<ArrowDown />}
        size="sm"
        keys="j"
        onClick={navigation.nextChange}
      />
      <IconButton
        label={t("diff.previousFile")}
        icon={<ChevronsUp />}
        size="sm"
        keys="p"
        onClick={navigation.previousFile}
      />
      <IconButton
        label={t("diff.nextFile")}
        icon={<ChevronsDown />}
        size="sm"
        keys="n"
        onClick={navigation.nextFile}
      />
      <IconButton
        label={t("diff.find.open")}
        icon={<Search />}
        size="sm"
        keys="mod+f"
        pressed={findOpen}
        onClick={() => onFind(!findOpen)}
      />
      <IconButton
        label={t("diff.oneFile")}
        icon={<File />}
        size="sm"
        pressed={isOne}
        onClick={() => setPreference("diffOneFile", !isOne)}
      />
      <SegmentedControl
        label={t("diff.layout")}
        value={diffStyle}
        segments={[
          { value: "unified", label: t("diff.unified"), icon: <Rows2 /> },
          { value: "split", label: t("diff.split"), icon: <Columns2 /> },
        ]}
        onChange={(style) => setPreference("diffStyle", style)}
      />
    </div>
  );
}
