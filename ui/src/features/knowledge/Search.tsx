/** Finds lessons that the repository keeps by their words, as they are found for an agent. */
import { BookOpen, Search as Glass } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Lesson } from "#ui/api/generated.ts";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { isSearchable } from "./search.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./knowledge.module.css";

function Found({ lesson }: { lesson: Lesson }) {
  const { t } = useTranslation();
  return (
    <li className={styles.row}>
      <BookOpen aria-hidden size={14} />
      <div className={layout.fillNarrow}>
        <p dir="auto" className={layout.anywhere}>
          {lesson.title}
        </p>
        {lesson.summary !== "" && <p className={styles.note}>{lesson.summary}</p>}
        <p className={styles.meta}>
          <code data-selectable>{lesson.path}</code>
          {(lesson.paths ?? []).length > 0 && (
            <span>{t("knowledge.about", { paths: (lesson.paths ?? []).join(", ") })}</span>
          )}
        </p>
      </div>
    </li>
  );
}

export function Search({ projectId }: { projectId: string }) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const asked = useDeferredValue(text.trim());
  const found = useOp(
    "knowledge_search",
    { project_id: projectId, q: asked },
    { enabled: isSearchable(asked) },
  );
  const items = found.data?.items ?? [];
  return (
    <section className={styles.part} role="search" aria-label={t("knowledge.search")}>
      <TextField
        label={t("knowledge.search")}
        hint={t("knowledge.searchHint")}
        icon={<Glass />}
        value={text}
        onChange={setText}
      />
      {isSearchable(asked) && found.error && (
        <ErrorState
          title={t("knowledge.searchFailed")}
          error={found.error}
          onRetry={() => void found.refetch()}
        />
      )}
      {isSearchable(asked) && found.data && items.length === 0 && (
        <p className={styles.none} role="status">
          {t("knowledge.nothingFound")}
        </p>
      )}
      {isSearchable(asked) && items.length > 0 && (
        <ul className={styles.list} aria-label={t("knowledge.found")}>
          {items.map((lesson) => (
            <Found key={lesson.path} lesson={lesson} />
          ))}
        </ul>
      )}
    </section>
  );
}
