/** What the task says: description, what it waits for, its checks, what the agent will be told. */
import { ChevronRight, FileText } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Task, WorkflowView } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { Checks } from "./Checks.tsx";
import { Dependencies } from "./Dependencies.tsx";
import { Description } from "./Description.tsx";
import { IssuePart } from "./IssuePart.tsx";
import { canHaveParts } from "./Parts.tsx";
import { PromptLayers } from "./PromptLayers.tsx";
import { RaceSetting } from "./RaceSetting.tsx";
import { RunsOn } from "./RunsOn.tsx";
import { AddButton, SubtaskList } from "./Subtasks.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import styles from "./Details.module.css";

/** A part that runs in turn is a turn of its parent's agent, where its parent is. */
const canBeRaced = ({ execution_mode: mode }: Task): boolean => mode === "independent";

function PromptPreview({ taskId }: { taskId: string }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button size="sm" variant="ghost" flush icon={<FileText />} onClick={() => setOpen(true)}>
        {t("task.promptPreview")}
      </Button>
      <Dialog
        open={open}
        onOpenChange={setOpen}
        size="lg"
        title={t("task.promptPreview")}
        description={t("task.promptText")}
      >
        {open && <PromptLayers taskId={taskId} />}
      </Dialog>
    </>
  );
}

interface FirstPartProps {
  readonly task: Task;
  readonly view: WorkflowView | undefined;
  readonly adding: boolean;
  readonly onAdding: (adding: boolean) => void;
}

/** A task without parts shows no section of them; here the first one is added. */
function FirstPart({ task, view, adding, onAdding }: FirstPartProps) {
  const { t } = useTranslation();
  return (
    <Stack gap={2}>
      <h3 className={styles.heading}>
        {t("subtasks.label")}
        <AddButton adding={adding} onAdding={() => onAdding(!adding)} />
      </h3>
      <SubtaskList task={task} view={view} adding={adding} onAdding={onAdding} />
    </Stack>
  );
}

export interface DetailsProps {
  readonly task: Task;
  readonly view: WorkflowView | undefined;
  readonly projectId: string;
  readonly open: boolean;
  readonly onToggle: () => void;
  readonly adding: boolean;
  readonly onAdding: (adding: boolean) => void;
}

export function Details({ task, view, projectId, open, onToggle, adding, onAdding }: DetailsProps) {
  const { t } = useTranslation();
  const excerpt = task.description.split("\n").find((line) => line.trim() !== "") ?? "";
  return (
    <section
      className={styles.details}
      aria-label={t("task.details")}
      data-open={open || undefined}
    >
      <button type="button" className={styles.toggle} aria-expanded={open} onClick={onToggle}>
        <ChevronRight aria-hidden />
        <span className={styles.name}>{t("task.details")}</span>
        {task.issue?.differs && <Badge tone="warning">{t("taskIssue.differs")}</Badge>}
        {!open && <span className={styles.excerpt}>{excerpt.replace(/[#*_`>]/g, "")}</span>}
      </button>
      <div className={styles.body}>
        <Description task={task} />
        {task.issue && <IssuePart task={task} issue={task.issue} />}
        <Dependencies task={task} projectId={projectId} />
        {canHaveParts(task) && task.subtasks.total === 0 && (
          <FirstPart task={task} view={view} adding={adding} onAdding={onAdding} />
        )}
        <Checks task={task} projectId={projectId} />
        {canBeRaced(task) && <RunsOn task={task} view={view} />}
        {canBeRaced(task) && <RaceSetting task={task} />}
        <div>
          <PromptPreview taskId={task.id} />
        </div>
      </div>
    </section>
  );
}
