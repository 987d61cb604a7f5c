/** A person's decision on the review; comments on the diff go along with a rejection. */
import { useTranslation } from "react-i18next";
import type { Offer, Task, Workflow } from "#ui/api/generated.ts";
import { asksForPlan } from "#ui/domain/plan.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Offers } from "../banner/Offers.tsx";
import { RunService } from "../services/RunService.tsx";
import { CheckResults } from "./CheckResults.tsx";
import { OutsideReview } from "./OutsideReview.tsx";
import { stateOf } from "#ui/domain/steps.ts";
import { useAction } from "../useAction.ts";
import { useDraftCount } from "./useDrafts.ts";

export interface DecideProps {
  readonly task: Task;
  readonly workflow: Workflow | undefined;
  /** The checks stand below it in full. */
  readonly isBesideChecks?: boolean;
}

export function Decide({ task, workflow, isBesideChecks = false }: DecideProps) {
  const { t } = useTranslation();
  const action = useAction();
  const drafts = useDraftCount(task.id);
  const state = stateOf(workflow, task.status);
  const gate = state?.gate_config;
  const isPlan = asksForPlan(state);
  const changed = task.work_changed;
  const decide = async (offer: Offer, reason: string | null): Promise<boolean> => {
    if (offer.verb === "review_again" || offer.verb === "merge_reviewed") {
      const { verb } = offer;
      const input = { task_id: task.id, verb, version: task.version, wait: "none" } as const;
      return (await action.run("task_action", input)) !== null;
    }
    const told = {
      task_id: task.id,
      wait: "none",
      ...(reason === null ? {} : { reason }),
    } as const;
    const done =
      offer.verb === "approve"
        ? await action.run("review_approve", {
            ...told,
            commit: task.review?.reviewed_commit ?? null,
          })
        : await action.run("review_reject", told);
    return done !== null;
  };
  const ways = task.offers.filter(
    ({ verb }) => verb === "review_again" || verb === "merge_reviewed",
  );
  const approve: Offer = {
    verb: "approve",
    label: gate?.approve_label ?? t("review.approve"),
    fields: [],
    why: t("review.approveWhy"),
  };
  const choices: Offer[] = [
    ...(changed === null ? [approve] : ways),
    {
      verb: "send_back",
      label: gate?.reject_label ?? t("review.reject"),
      fields: ["reason"],
      why: t("review.rejectWhy"),
    },
  ];
  const sends = drafts > 0 ? t("decide.sends", { count: drafts }) : null;
  return (
    <Banner
      tone="warning"
      title={t(isPlan ? "review.awaitsPlan" : "review.awaits")}
      actions={
        <>
          {!isPlan && <RunService taskId={task.id} projectId={task.project_id} action={action} />}
          <Offers
            offers={choices}
            taskId={task.id}
            action={action}
            onTake={decide}
            mayBeEmpty
            formNote={sends}
          />
        </>
      }
    >
      {t(isPlan ? "review.awaitsPlanText" : "review.awaitsText")}{" "}
      {sends !== null && t("decide.drafts", { count: drafts })}
      {!isBesideChecks && <CheckResults taskId={task.id} />}
      {changed !== null && <OutsideReview changed={changed} />}
    </Banner>
  );
}
