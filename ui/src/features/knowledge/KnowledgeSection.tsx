/**
 * What a project has learned: lessons that agents propose and a person decides about, and those that
 * the repository keeps.
 */
import { BookOpen, Lightbulb } from "lucide-react";
import type { ComponentType, ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { formatRoute, setQuery } from "#ui/app/router.ts";
import { useOp, useOpPages } from "#ui/api/client.ts";
import type { LessonView } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { Proposal } from "./Proposal.tsx";
import { Search } from "./Search.tsx";
import { asksForLessons } from "./asks.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./knowledge.module.css";

interface RowProps {
  readonly lesson: LessonView;
  readonly projectId: string;
}

function Kept({ lesson, projectId }: RowProps) {
  const { t } = useTranslation();
  return (
    <li className={styles.row}>
      <BookOpen aria-hidden size={14} />
      <div className={layout.fillNarrow}>
        <p dir="auto" className={layout.anywhere}>
          {lesson.title}
        </p>
        <p className={styles.meta}>
          <code data-selectable>{lesson.file}</code>
          {lesson.task_number !== null && (
            <a
              href={formatRoute("task", { project: projectId, number: String(lesson.task_number) })}
            >
              {t("knowledge.ofTask", { number: lesson.task_number })}
            </a>
          )}
          {lesson.decided_at !== null && <RelativeTime at={lesson.decided_at} />}
        </p>
      </div>
    </li>
  );
}

function Part({
  name,
  title,
  text,
  projectId,
  status,
  empty,
  Row,
}: {
  name: string;
  title: string;
  text: string;
  projectId: string;
  status: "proposed" | "accepted";
  empty: ReactNode;
  Row: ComponentType<RowProps>;
}) {
  const { t } = useTranslation();
  const lessons = useOpPages("knowledge_list", { project_id: projectId, status });
  const items = lessons.data ?? [];
  let content: ReactNode;
  if (lessons.error) {
    content = (
      <ErrorState
        title={t("knowledge.failed")}
        error={lessons.error}
        onRetry={() => void lessons.refetch()}
      />
    );
  } else if (!lessons.data) content = <SkeletonText lines={3} />;
  else if (items.length === 0) content = empty;
  else {
    content = (
      <>
        <ul className={styles.list} aria-labelledby={name}>
          {items.map((lesson) => (
            <Row key={lesson.id ?? lesson.file} lesson={lesson} projectId={projectId} />
          ))}
        </ul>
        {lessons.hasNextPage && (
          <Button
            size="sm"
            variant="ghost"
            busy={lessons.isFetchingNextPage}
            onClick={() => void lessons.fetchNextPage()}
          >
            {t("knowledge.more")}
          </Button>
        )}
      </>
    );
  }
  return (
    <section className={styles.part} aria-labelledby={name}>
      <h2 id={name}>{title}</h2>
      <p className={styles.note}>{text}</p>
      {content}
    </section>
  );
}

/** Nothing waits: because nothing was proposed, or because nobody asks for it. */
function NothingProposed({ projectId }: { projectId: string }) {
  const { t } = useTranslation();
  const hooks = useOp("project_settings_get", { project_id: projectId }).data;
  const workflow = useOp("project_workflow_get", { project_id: projectId }).data;
  if (!hooks || !workflow || asksForLessons(hooks.settings, workflow.workflow)) {
    return <p className={styles.none}>{t("knowledge.nothingProposed")}</p>;
  }
  return (
    <div className={styles.list}>
      <EmptyState
        icon={<Lightbulb />}
        title={t("knowledge.offTitle")}
        actions={
          <>
            <Button onClick={() => setQuery({ tab: "innerLoop" })}>{t("knowledge.toLoop")}</Button>
            <Button onClick={() => setQuery({ tab: "hooks" })}>{t("knowledge.toHooks")}</Button>
          </>
        }
      >
        {t("knowledge.offText")}
      </EmptyState>
    </div>
  );
}

export default function KnowledgeSection({ projectId }: { projectId: string }) {
  const { t } = useTranslation();
  return (
    <div className={styles.column}>
      <Part
        name="knowledge-proposed"
        title={t("knowledge.proposed")}
        text={t("knowledge.proposedText")}
        projectId={projectId}
        status="proposed"
        empty={<NothingProposed projectId={projectId} />}
        Row={Proposal}
      />
      <Search projectId={projectId} />
      <Part
        name="knowledge-kept"
        title={t("knowledge.kept")}
        text={t("knowledge.keptText")}
        projectId={projectId}
        status="accepted"
        empty={<p className={styles.none}>{t("knowledge.nothingKept")}</p>}
        Row={Kept}
      />
    </div>
  );
}
