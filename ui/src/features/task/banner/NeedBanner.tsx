/** Says on top what the task needs or waits for, proves it, and offers what helps. */
import {
  Bot,
  Crown,
  Flag,
  FolderGit2,
  GitMerge,
  GitPullRequest,
  GitPullRequestClosed,
  ListTree,
  MessageCircleQuestion,
  ShieldQuestionMark,
  Unlink,
  Webhook,
} from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type {
  AnnotationType,
  ErrorAnnotation,
  Offer,
  Task,
  WaitReason,
  Workflow,
} from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Said } from "#ui/components/Said.tsx";
import { askLine, mayAsk } from "#ui/domain/asks.ts";
import { machineOf } from "#ui/domain/machines/machines.ts";
import { useMachineMap } from "#ui/domain/machines/useMachines.ts";
import { TrustDialog } from "#ui/domain/trust/TrustDialog.tsx";
import { focusAsk, useApprovals } from "../approvals/Asks.tsx";
import { Decide } from "../review/Decide.tsx";
import { showTab } from "../go.ts";
import { isClearable, isPreflight, needOf } from "../state.ts";
import { useAction } from "../useAction.ts";
import { EvidenceBlock, HookEvidence, saysNothing } from "./Evidence.tsx";
import { Offers } from "./Offers.tsx";
import { Step } from "./Step.tsx";
import { asOffers } from "./offers.ts";
import { CancelledPrerequisites, PausedPart } from "./Relatives.tsx";
import { hasEvidence, waitIcons, WaitEvidence, WaitText } from "./Wait.tsx";

/** Where the trouble is: at the hooks, the agent, the worktree, the merge, another task. */
const troubleIcons: Partial<Readonly<Record<AnnotationType, ReactNode>>> = {
  before_work_hook_failed: <Webhook />,
  before_work_hook_timeout: <Webhook />,
  executor_failed: <Bot />,
  executor_unavailable: <Bot />,
  environment_not_ready: <FolderGit2 />,
  workspace_error: <FolderGit2 />,
  workspace_reset_required: <FolderGit2 />,
  merge_conflict: <GitMerge />,
  merge_error: <GitMerge />,
  work_missing: <GitMerge />,
  work_changed_since_review: <GitMerge />,
  trust_required: <ShieldQuestionMark />,
  pr_failed: <GitPullRequest />,
  pr_closed_without_merge: <GitPullRequestClosed />,
  subtask_paused: <ListTree />,
  dependency_cancelled: <Unlink />,
  race_no_winner: <Flag />,
  race_not_promoted: <Crown />,
};

function proofOf(task: Task, annotation: ErrorAnnotation): ReactNode {
  const { evidence, hook } = annotation;
  if (hook && isPreflight(annotation)) {
    return <HookEvidence taskId={task.id} annotation={annotation} hook={hook} />;
  }
  return (
    evidence && !saysNothing(evidence) && <EvidenceBlock taskId={task.id} evidence={evidence} />
  );
}

function relativesOf(task: Task, { type }: ErrorAnnotation): ReactNode {
  if (type === "subtask_paused") return <PausedPart task={task} />;
  if (type === "dependency_cancelled") return <CancelledPrerequisites task={task} />;
  return null;
}

/** What is proved by the race itself, which has a tab of its own. */
const ofRace: ReadonlySet<AnnotationType | WaitReason> = new Set([
  "race_no_winner",
  "race_not_promoted",
  "race_running",
  "race_crown",
]);

function RaceButton() {
  const { t } = useTranslation();
  return (
    <Button size="sm" variant="ghost" onClick={() => showTab("race")}>
      {t("race.open")}
    </Button>
  );
}

/** How far a race is stands in its tab, why a code host does not answer at the pull request: in the same words. */
const told: Readonly<Record<"race" | "review", WaitReason>> = {
  race: "race_running",
  review: "host_unreachable",
};

export interface NeedBannerProps {
  readonly task: Task;
  readonly workflow: Workflow | undefined;
  /** The evidence is a press away: what stands below needs the height. */
  readonly compact?: boolean;
  /** What stands below, and says itself what it is about. */
  readonly below?: "race" | "review" | undefined;
}

export function NeedBanner({ task, workflow, compact = false, below }: NeedBannerProps) {
  const { t } = useTranslation();
  const [unfolded, setUnfolded] = useState(false);
  const [trusting, setTrusting] = useState(false);
  const action = useAction();
  const machine = useMachineMap().get(machineOf(task.workspace) ?? "")?.name;
  // Without an agent at work nothing is asked.
  const asks = mayAsk(task);
  const { pending } = useApprovals(task.id, asks);
  const need = needOf(task, workflow, asks ? pending.map(askLine) : []);
  if (!need) return null;
  const offers = asOffers(task.offers);
  const folds = (evidence: ReactNode) =>
    evidence && compact
      ? {
          evidence: unfolded && evidence,
          more: (
            <Button
              size="sm"
              variant="ghost"
              aria-expanded={unfolded}
              onClick={() => setUnfolded(!unfolded)}
            >
              {t(unfolded ? "task.hideEvidence" : "task.showEvidence")}
            </Button>
          ),
        }
      : { evidence };

  const take = async (offer: Offer, field: string | null): Promise<boolean> => {
    // What is trusted is looked at first.
    if (offer.verb === "trust_files") {
      setTrusting(true);
      return true;
    }
    const fields = field === null ? {} : { [offer.fields[0] ?? "reason"]: field };
    const done = await action.run("task_action", {
      task_id: task.id,
      verb: offer.verb,
      version: task.version,
      wait: "none",
      ...(offer.verb === "approve" ? { commit: task.review?.reviewed_commit ?? null } : {}),
      ...fields,
    });
    return done !== null;
  };

  switch (need.kind) {
    case "trouble": {
      const { annotation } = need;
      return (
        <Banner
          tone="danger"
          title={t(`task.trouble.${annotation.type}`)}
          icon={troubleIcons[annotation.type]}
          {...folds(proofOf(task, annotation))}
          {...(ofRace.has(annotation.type) && below !== "race" ? { more: <RaceButton /> } : {})}
          actions={
            offers.length > 0 && (
              <Offers offers={offers} taskId={task.id} action={action} onTake={take} />
            )
          }
        >
          <Said
            text={annotation.type === "race_no_winner" ? t("race.noWinner") : annotation.message}
          />
          {relativesOf(task, annotation)}
          {annotation.type === "trust_required" && (
            <TrustDialog
              projectId={task.project_id}
              taskId={task.id}
              open={trusting}
              onOpenChange={setTrusting}
            />
          )}
        </Banner>
      );
    }
    case "asks":
      return (
        <Banner
          tone="warning"
          title={t("approvals.banner", { count: need.more + 1 })}
          icon={<MessageCircleQuestion />}
          actions={
            <Button
              size="sm"
              onClick={() => focusAsk(task.live === null ? "race" : "conversation")}
              keys="q"
            >
              {t("approvals.answer")}
            </Button>
          }
        >
          {need.title}
        </Banner>
      );
    case "step":
      return <Step task={task} state={need.state} />;
    case "review":
      return <Decide task={task} workflow={workflow} isBesideChecks={below === "review"} />;
    case "waiting": {
      const { waiting } = need;
      if (offers.length === 0 && below !== undefined && told[below] === waiting.reason) return null;
      return (
        <Banner
          tone={isClearable(waiting) ? "warning" : "info"}
          title={t(`task.waits.${waiting.reason}`)}
          icon={waitIcons[waiting.reason]}
          {...folds(hasEvidence(task, waiting) && <WaitEvidence task={task} waiting={waiting} />)}
          {...(ofRace.has(waiting.reason) && below !== "race" ? { more: <RaceButton /> } : {})}
          actions={
            offers.length > 0 && (
              <Offers
                offers={offers}
                taskId={task.id}
                machine={machine}
                queued={waiting.reason === "job_pending"}
                action={action}
                onTake={take}
              />
            )
          }
        >
          <WaitText task={task} waiting={waiting} />
        </Banner>
      );
    }
  }
}
