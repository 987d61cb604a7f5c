/** What a task left behind for those who come later: the note of how it went, and its postmortems. */
import { NotebookPen } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task, Trajectory } from "#ui/api/generated.ts";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Markdown } from "#ui/components/Markdown.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { useAgentNames } from "../useAgentNames.ts";
import { hasDebrief, newestFirst } from "./debrief.ts";
import { PostmortemPart } from "./PostmortemPart.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Debrief.module.css";

function Note({ note }: { note: Trajectory }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const agents = useAgentNames();
  const by = agents.get(note.agent_id) ?? t("task.actor.agentGone");
  return (
    <section className={styles.part} aria-labelledby="debrief-note">
      <header className={styles.head}>
        <h3 id="debrief-note">{t("debrief.note")}</h3>
        <span className={layout.note}>
          {t("debrief.by", { name: by })} <RelativeTime at={note.at} />
        </span>
      </header>
      <Markdown source={note.text} onLink={(href) => void platform.openExternal(href)} />
      {note.is_cut && <p className={layout.note}>{t("debrief.cut")}</p>}
    </section>
  );
}

export function DebriefTab({ task }: { task: Task }) {
  const { t } = useTranslation();
  const debrief = useOp("task_debrief", { task_id: task.id });
  if (debrief.error && !debrief.data) {
    return (
      <ErrorState
        title={t("debrief.failed")}
        error={debrief.error}
        onRetry={() => void debrief.refetch()}
      />
    );
  }
  if (!debrief.data) {
    return (
      <div className={styles.debrief} aria-busy>
        <SkeletonText lines={6} />
      </div>
    );
  }
  if (!hasDebrief(debrief.data)) {
    return (
      <EmptyState icon={<NotebookPen />} title={t("debrief.none")}>
        {t("debrief.noneText")}
      </EmptyState>
    );
  }
  const { note, postmortems } = debrief.data;
  return (
    <div className={styles.debrief} data-selectable>
      {note && <Note note={note} />}
      {newestFirst(postmortems).map((postmortem, index) => (
        <PostmortemPart key={postmortem.number} postmortem={postmortem} newest={index === 0} />
      ))}
    </div>
  );
}
