import { Lightbulb } from "lucide-react";
import { useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { formatRoute } from "#ui/app/router.ts";
import { useOpMutation } from "#ui/api/client.ts";
import { ApiError, errorText } from "#ui/api/error.ts";
import { findingAt, restOf } from "#ui/api/findings.ts";
import type { LessonView } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Markdown } from "#ui/components/Markdown.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { linesOf, pathsIn } from "./paths.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./knowledge.module.css";

interface Draft {
  readonly title: string;
  readonly body: string;
  readonly paths: string;
}

/** The file to be added to a pull request, where the project's work goes by them. */
function fileIn(error: ApiError | null): { file: string; text: string } | null {
  if (error?.code !== "lesson_needs_pull_request") return null;
  const { file, text } = (error.details ?? {}) as { file?: unknown; text?: unknown };
  return typeof file === "string" && typeof text === "string" ? { file, text } : null;
}

const fields = ["title", "body", "paths"];

/** One proposed lesson: to be read, edited, kept or left out. */
export function Proposal({ lesson, projectId }: { lesson: LessonView; projectId: string }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const [draft, setDraft] = useState<Draft | null>(null);
  const accept = useOpMutation("knowledge_accept", {
    onSuccess: ({ file }) =>
      showToast({ tone: "success", title: t("knowledge.accepted"), detail: file ?? "" }),
  });
  const dismiss = useOpMutation("knowledge_dismiss", {
    onError: (error) =>
      showToast({
        tone: "danger",
        title: t("knowledge.notDismissed"),
        detail: errorText(error),
      }),
  });
  const path = { project_id: projectId, lesson_id: lesson.id ?? "" };
  const keep = () => {
    if (accept.isPending) return;
    accept.mutate(
      draft ? { ...path, title: draft.title, body: draft.body, paths: pathsIn(draft.paths) } : path,
    );
  };
  const edit = (change: Partial<Draft>) => setDraft((before) => before && { ...before, ...change });
  const close = () => {
    setDraft(null);
    accept.reset();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
    event.stopPropagation();
    close();
  };
  // What is wrong with a field is said there while the fields are shown.
  const rest = draft
    ? restOf(accept.error, fields) !== null
    : accept.error !== null && accept.error !== undefined;
  const file = fileIn(accept.error);
  const name = lesson.title;
  return (
    <li className={styles.proposal} aria-label={name}>
      <div className={styles.head}>
        <Lightbulb aria-hidden size={14} />
        <div className={layout.fillNarrow}>
          <h3 className={layout.anywhere}>{name}</h3>
          <p className={styles.meta}>
            {lesson.task_number !== null && (
              <a
                href={formatRoute("task", {
                  project: projectId,
                  number: String(lesson.task_number),
                })}
              >
                {t("knowledge.ofTask", { number: lesson.task_number })}
              </a>
            )}
            {lesson.created_at !== null && <RelativeTime at={lesson.created_at} />}
            {lesson.paths.map((each) => (
              <code key={each} data-selectable>
                {each}
              </code>
            ))}
          </p>
        </div>
      </div>
      {draft ? (
        <form
          className={styles.form}
          aria-label={t("knowledge.editOf", { name })}
          onSubmit={(event) => {
            event.preventDefault();
            keep();
          }}
        >
          <TextField
            autoFocus
            label={t("knowledge.title")}
            value={draft.title}
            maxLength={120}
            error={findingAt(accept.error, "title")}
            onChange={(title) => edit({ title })}
            onKeyDown={onKeyDown}
          />
          <TextArea
            label={t("knowledge.body")}
            rows={8}
            value={draft.body}
            error={findingAt(accept.error, "body")}
            onChange={(body) => edit({ body })}
            onKeyDown={onKeyDown}
          />
          <TextArea
            mono
            label={t("knowledge.paths")}
            hint={t("knowledge.pathsHint")}
            rows={2}
            value={draft.paths}
            error={findingAt(accept.error, "paths")}
            onChange={(paths) => edit({ paths })}
            onKeyDown={onKeyDown}
          />
        </form>
      ) : (
        <div className={styles.body}>
          <Markdown source={lesson.body} onLink={(href) => void platform.openExternal(href)} />
        </div>
      )}
      {file && (
        <Banner
          tone="info"
          title={t("knowledge.byPullRequest")}
          evidence={<CodeBlock caption={file.file} code={file.text} wrap maxHeight={220} />}
        >
          {t("knowledge.byPullRequestText")}
        </Banner>
      )}
      {accept.error && rest && !file && (
        <Banner tone="danger" title={t("knowledge.notAccepted")}>
          {errorText(accept.error)}
        </Banner>
      )}
      <div className={styles.buttons}>
        <Button
          size="sm"
          variant="primary"
          busy={accept.isPending}
          aria-label={t("knowledge.acceptOf", { name })}
          onClick={keep}
        >
          {t("knowledge.accept")}
        </Button>
        {draft ? (
          <Button size="sm" onClick={close}>
            {t("action.cancel")}
          </Button>
        ) : (
          <Button
            size="sm"
            aria-label={t("knowledge.editOf", { name })}
            onClick={() => setDraft({ ...lesson, paths: linesOf(lesson.paths) })}
          >
            {t("knowledge.edit")}
          </Button>
        )}
        <Button
          size="sm"
          variant="ghost"
          busy={dismiss.isPending}
          aria-label={t("knowledge.dismissOf", { name })}
          onClick={() => dismiss.mutate(path)}
        >
          {t("action.dismiss")}
        </Button>
      </div>
    </li>
  );
}
