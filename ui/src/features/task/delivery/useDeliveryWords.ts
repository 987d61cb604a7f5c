/** The words of a delivery, the same on the screen and in the copy. */
import { useTranslation } from "react-i18next";
import type { Delivery, Task } from "#ui/api/generated.ts";
import { duration } from "#ui/components/time.ts";
import { actorText } from "../actor.ts";
import { compact, money } from "../numbers.ts";
import { outcomeOfAudit } from "../review/audit.ts";
import { short } from "../review/merging.ts";
import { useAgentNames } from "../useAgentNames.ts";
import { inputOf, outputOf, passedOf, wholeTime, type Fact, type Words } from "./delivery.ts";

export function useDeliveryWords(
  task: Task,
  delivery: Delivery,
  cancelled: boolean,
): Words & { readonly headline: string } {
  const { t } = useTranslation();
  const agents = useAgentNames();
  const { merge, commits, diff_stat: diff, checks, audit, usage, pull_request: pull } = delivery;
  const facts: Fact[] = [];
  const say = (name: string, value: string | null) => {
    if (value !== null) facts.push({ name, value });
  };

  if (merge?.status === "landed") {
    const into = t("delivery.mergedInto", { target: merge.target });
    say(t("delivery.merge"), merge.merge_commit ? `${into} (${short(merge.merge_commit)})` : into);
  } else if (merge) say(t("delivery.merge"), t("delivery.nothingToMerge"));
  if (pull) say(t("pullRequest.title"), `#${pull.number} ${t(`pullRequest.state.${pull.state}`)}`);
  if (commits.length > 0) say(t("delivery.commits"), String(commits.length));
  if (diff) {
    const files = t("diff.files", { count: diff.files });
    say(t("delivery.changes"), `${files}, +${diff.added} −${diff.removed}`);
  }
  if (checks.length > 0) {
    say(
      t("delivery.checks"),
      t("delivery.checksPassed", { passed: passedOf(checks), total: checks.length }),
    );
  }
  if (audit) {
    const name = agents.get(audit.agent_id) ?? t("task.actor.agentGone");
    const verdict = t(`audit.outcome.${outcomeOfAudit(audit)}`);
    const score = audit.score === null ? "" : `, ${t("audit.outOf", { score: audit.score })}`;
    say(t("delivery.audit"), `${name}: ${verdict}${score}`);
  }
  if (delivery.decided_by) say(t("delivery.decided"), actorText(delivery.decided_by, agents, t));
  if (delivery.attempts > 0) say(t("delivery.attempts"), String(delivery.attempts));
  if (delivery.runs > 0) say(t("delivery.runs"), String(delivery.runs));
  if (usage.cost_micro_usd !== null) {
    const unknown =
      usage.runs_of_unknown_cost > 0
        ? `, ${t("task.unknownCost", { count: usage.runs_of_unknown_cost })}`
        : "";
    say(t("delivery.cost"), `${money(usage.cost_micro_usd)}${unknown}`);
  }
  if (inputOf(usage) + outputOf(usage) > 0) {
    const numbers = { input: compact(inputOf(usage)), output: compact(outputOf(usage)) };
    say(t("delivery.tokens"), t("conversation.tokens", numbers));
  }
  if (delivery.agent_ms !== null && delivery.agent_ms > 0) {
    say(t("delivery.agentTime"), duration(delivery.agent_ms));
  }
  const whole = wholeTime(delivery);
  if (whole !== null) say(t("delivery.wholeTime"), duration(whole));

  return {
    headline: cancelled
      ? t("delivery.cancelled")
      : merge?.status === "landed"
        ? t("delivery.deliveredTo", { target: merge.target })
        : pull?.state === "merged"
          ? t("delivery.deliveredByPull", { number: pull.number })
          : t("delivery.closed"),
    title: `#${task.number} ${task.title}`,
    commits: t("delivery.commits"),
    checks: t("delivery.checks"),
    facts,
  };
}
