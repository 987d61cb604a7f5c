/** What the last merge conflicts in: who resolves it, the places, and the three sides of each file. */
import { ChevronRight, CircleCheck, GitMerge } from "lucide-react";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Conflict, ConflictPath, ConflictStanding, Task } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { stateOf } from "#ui/domain/steps.ts";
import { PlaceView } from "./PlaceView.tsx";
import { ThreeSides } from "./ThreeSides.tsx";
import { placeOf, resolverOf, type Starts } from "./places.ts";
import { kindWords } from "./words.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./ConflictView.module.css";

/** So many files are open at first; the rest would only push them out of sight. */
const openAtFirst = 3;

/** Conflicts of older days were recorded without the lines. */
const unknown: Starts = {};

/** What can be told without reading the sides: one of them is not there. */
function absence(path: ConflictPath): "deletedThere" | "deletedHere" | null {
  if (!path.ours && path.base) return "deletedThere";
  if (!path.theirs && path.base) return "deletedHere";
  return null;
}

function File({
  taskId,
  path,
  target,
  first,
}: {
  taskId: string;
  path: ConflictPath;
  target: string;
  first: boolean;
}) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(first);
  const [sides, setSides] = useState(false);
  const places = useMemo(() => (path.hunks ?? []).map(placeOf), [path.hunks]);
  const missing = absence(path);
  const folder = path.path.slice(0, path.path.lastIndexOf("/") + 1);
  return (
    <section className={styles.file} aria-label={path.path}>
      <header className={styles.head}>
        <button
          type="button"
          className={styles.toggle}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          <ChevronRight className={styles.chevron} aria-hidden />
          <span className={styles.path}>
            <span className={styles.folder}>{folder}</span>
            {path.path.slice(folder.length)}
          </span>
        </button>
        <CopyButton text={path.path} label={t("diff.copyPath")} />
        <Badge tone="warning">{kindWords(path.kind, target, t)}</Badge>
      </header>
      {open && (
        <div className={styles.body}>
          {missing && <p className={layout.soft}>{t(`conflict.${missing}`, { target })}</p>}
          {places.length > 0 && (
            <ol className={styles.places}>
              {places.map((place, index) => (
                <li key={index}>
                  <PlaceView
                    place={place}
                    starts={path.places?.[index] ?? unknown}
                    target={target}
                    label={t("conflict.place", { index: index + 1, count: places.length })}
                  />
                </li>
              ))}
            </ol>
          )}
          {places.length === 0 && !missing && (
            <p className={layout.soft}>{t("conflict.noPlaces")}</p>
          )}
          <Button size="sm" aria-expanded={sides} onClick={() => setSides(!sides)}>
            {t(sides ? "conflict.hideSides" : "conflict.showSides")}
          </Button>
          {sides && <ThreeSides taskId={taskId} path={path.path} places={places} target={target} />}
        </div>
      )}
    </section>
  );
}

function Found({
  task,
  conflict,
  standing,
}: {
  task: Task;
  conflict: Conflict;
  standing: ConflictStanding;
}) {
  const { t } = useTranslation();
  const workflow = useOp("project_workflow_get", { project_id: task.project_id }).data?.workflow;
  const [past, setPast] = useState(false);
  const { target, paths } = conflict;
  const resolver = workflow && resolverOf(task, stateOf(workflow, task.status));
  const over = standing !== "open";
  return (
    <section
      className={styles.conflict}
      aria-label={t("conflict.label")}
      data-standing={standing}
      data-selectable
    >
      <Stack as="header" gap={1}>
        <h3 className={styles.title}>
          {over && (
            <Badge tone="success" icon={<CircleCheck />}>
              {t(`conflict.standing.${standing}`)}
            </Badge>
          )}
          {over
            ? t("conflict.resolvedTitle", { target })
            : t("conflict.title", { target, count: paths.length })}
        </h3>
        <p className={styles.who}>
          {over
            ? t(`conflict.over.${standing}`, { target })
            : resolver && t(`conflict.who.${resolver}`, { target })}
        </p>
        <p className={layout.note}>
          {t("conflict.commits")} <code>{conflict.target_commit.slice(0, 8)}</code>
          {conflict.source_commit && (
            <>
              {" · "}
              {t("conflict.ofTask")} <code>{conflict.source_commit.slice(0, 8)}</code>
            </>
          )}
        </p>
      </Stack>
      {over && (
        <Button size="sm" aria-expanded={past} onClick={() => setPast(!past)}>
          {past ? t("conflict.hidePast") : t("conflict.showPast", { count: paths.length })}
        </Button>
      )}
      {(!over || past) &&
        paths.map((path, index) => (
          <File
            key={path.path}
            taskId={task.id}
            path={path}
            target={target}
            first={index < openAtFirst}
          />
        ))}
    </section>
  );
}

export function ConflictView({ task }: { task: Task }) {
  const { t } = useTranslation();
  const answer = useOp("task_conflict", { task_id: task.id });
  if (answer.error) {
    return (
      <ErrorState
        title={t("conflict.failed")}
        error={answer.error}
        onRetry={() => void answer.refetch()}
      />
    );
  }
  if (!answer.data) {
    return (
      <div className={styles.conflict} aria-busy>
        <SkeletonText lines={5} />
      </div>
    );
  }
  const { conflict, standing } = answer.data;
  if (!conflict) {
    return (
      <EmptyState icon={<GitMerge />} title={t("conflict.none")}>
        {t("conflict.noneText")}
      </EmptyState>
    );
  }
  return <Found task={task} conflict={conflict} standing={standing ?? "open"} />;
}
