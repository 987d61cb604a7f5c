import { Ellipsis, Inbox, MessageCircleQuestion, TriangleAlert, Webhook } from "lucide-react";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { quickOptions } from "#ui/domain/asks.ts";
import { useReadNotices } from "#ui/domain/notices/useReadNotices.ts";
import { asksForPlan } from "#ui/domain/plan.ts";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { formatRoute } from "#ui/app/router.ts";
import { Screen } from "#ui/app/Screen.tsx";
import { TaskQuestions } from "#ui/app/TaskQuestions.tsx";
import { moveTo, useTaskActions, type Perform, type TaskActions } from "#ui/app/useTaskActions.tsx";
import { stateOf } from "#ui/domain/steps.ts";
import { t as translate } from "#ui/i18n/index.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Menu } from "#ui/components/Menu.tsx";
import { glyphOf } from "#ui/domain/stateKinds.ts";
import { TrustDialog } from "#ui/domain/trust/TrustDialog.tsx";
import { useStates } from "#ui/domain/useStates.ts";
import { call, useOp, useOpMutation } from "#ui/api/client.ts";
import { ApiError, errorText } from "#ui/api/error.ts";
import type { Approval, Offer, Task } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { Said } from "#ui/components/Said.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { attentionLimit } from "./limit.ts";
import { evidenceHead, inboxOf, offersFor, stepsOf, type Quick } from "./quick.ts";
import { Stack } from "#ui/components/Stack.tsx";
import { Truncate } from "#ui/components/Truncate.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./AttentionScreen.module.css";

const failed = (number: number, error: Error) =>
  showToast({
    tone: "danger",
    title: translate("attention.notDone", { number }),
    detail: errorText(ApiError.from(error)),
  });

/** What can be done to the task as everywhere, and its questions. */
function useActions(task: Task): TaskActions {
  const platform = usePlatform();
  const read = useReadNotices();
  const view = useOp("project_workflow_get", { project_id: task.project_id }).data;
  const run: Perform = async (op, input) => {
    try {
      const answer = await call(platform, op, input);
      read(task.id);
      return answer;
    } catch (error) {
      failed(task.number, ApiError.from(error));
      return null;
    }
  };
  return useTaskActions(view, run)(task);
}

function useTake(task: Task) {
  const onError = (error: Error) => failed(task.number, error);
  const read = useReadNotices();
  const onSuccess = () => read(task.id);
  const act = useOpMutation("task_action", { onError, onSuccess });
  const approve = useOpMutation("review_approve", { onError, onSuccess });
  return {
    busy: act.isPending || approve.isPending,
    take: (quick: Quick) => {
      if (quick.kind === "approve") {
        const commit = task.review?.reviewed_commit ?? null;
        approve.mutate({ task_id: task.id, commit, wait: "none" });
      } else {
        act.mutate({
          task_id: task.id,
          verb: quick.offer.verb,
          version: task.version,
          wait: "none",
        });
      }
    },
  };
}

const nameOf = (offer: Offer) => offer.label;

function Row({ task, project }: { task: Task; project: string }) {
  const { t } = useTranslation();
  const { busy, take } = useTake(task);
  const [trusting, setTrusting] = useState(false);
  const choose = (quick: Quick) => {
    // What is trusted is looked at first.
    if (quick.kind === "offer" && quick.offer.verb === "trust_files") setTrusting(true);
    else take(quick);
  };
  const state = useStates(task.project_id).get(task.status);
  const view = useOp("project_workflow_get", { project_id: task.project_id }).data;
  const actions = useActions(task);
  const steps = stepsOf(task, view);
  const { error_annotation: trouble, waiting } = task;
  const ofRace = trouble?.type === "race_no_winner" || waiting?.reason === "race_crown";
  const href = formatRoute(
    "board",
    { project: task.project_id },
    { task: String(task.number), ...(ofRace ? { tab: "race" } : {}) },
  );
  const evidence = evidenceHead(task);
  // A hook that stopped the work before an agent began is no failure of the agent's.
  const preflight = trouble?.type.startsWith("before_work_hook") ?? false;
  const happened =
    (trouble?.type === "race_no_winner" ? t("race.noWinner") : trouble?.message) ??
    (waiting?.reason === "undo" ? null : waiting?.message) ??
    (task.review?.status === "awaiting_human"
      ? t(asksForPlan(state) ? "attention.awaitsPlan" : "attention.awaitsReview")
      : state === undefined
        ? ""
        : t("task.step.title", { state: state.display_name }));
  return (
    <li className={styles.row}>
      <StateGlyph
        kind={glyphOf(task, state)}
        label={state?.display_name ?? task.status}
        size={16}
      />
      <Stack gap={0} fill>
        <a href={href} className={styles.title} data-attention>
          <span className={styles.number}>#{task.number}</span>
          <Truncate>{task.title}</Truncate>
        </a>
        {trouble && (
          <p className={styles.kind} data-preflight={preflight || undefined}>
            {preflight ? <Webhook aria-hidden /> : <TriangleAlert aria-hidden />}
            {t(`task.trouble.${trouble.type}`)}
          </p>
        )}
        <p dir="auto" className={styles.happened}>
          <Said text={happened} />
        </p>
        {evidence && (
          <pre className={styles.evidence} data-selectable>
            {evidence}
          </pre>
        )}
        <p className={layout.note}>
          {project} · {state?.display_name ?? task.status} · {t("attention.since")}{" "}
          <RelativeTime at={trouble?.at ?? task.status_since} />
        </p>
      </Stack>
      <div className={styles.offers}>
        {offersFor(task, state).map((quick) => (
          <Button
            key={quick.kind === "approve" ? "approve" : quick.offer.verb}
            size="sm"
            busy={busy}
            title={quick.kind === "offer" ? quick.offer.why : undefined}
            onClick={() => choose(quick)}
          >
            {quick.kind === "approve" ? quick.label || t("attention.approve") : nameOf(quick.offer)}
          </Button>
        ))}
        {steps.map((to) => (
          <Button key={to} size="sm" onClick={moveTo(actions, to)?.onSelect}>
            {t("task.step.move", { state: stateOf(view?.workflow, to)?.display_name ?? to })}
          </Button>
        ))}
        <Menu
          align="end"
          entries={actions.menu}
          trigger={
            <IconButton
              label={t("attention.actionsOf", { number: task.number })}
              icon={<Ellipsis />}
              size="sm"
            />
          }
        />
        <TaskQuestions questions={actions.questions} />
        {trouble?.type === "trust_required" && (
          <TrustDialog
            projectId={task.project_id}
            taskId={task.id}
            open={trusting}
            onOpenChange={setTrusting}
          />
        )}
      </div>
    </li>
  );
}

/** An agent that waits for an answer: yes and no are given here, all else in the conversation. */
function AskRow({ approval, project }: { approval: Approval; project: string }) {
  const { t } = useTranslation();
  const task = useOp("task_get", { task_id: approval.task_id }).data;
  const agents = useOp("agent_list", {}).data?.items;
  const answer = useOpMutation("approval_answer", {
    onError: (error) =>
      showToast({
        tone: "danger",
        title: t("approvals.notGiven", { number: task?.number ?? 0 }),
        detail: error.message,
      }),
  });
  const agent = agents?.find(({ id }) => id === approval.agent_id)?.name;
  const params = { project: approval.project_id };
  const href = task
    ? formatRoute("board", params, {
        task: String(task.number),
        // An entry of a race has its task's number, and is looked at from there.
        tab: task.execution_mode === "race_entry" ? "race" : "conversation",
      })
    : formatRoute("board", params);
  return (
    <li className={styles.row}>
      <MessageCircleQuestion className={styles.asks} aria-hidden />
      <Stack gap={0} fill>
        <a href={href} className={styles.title} data-attention>
          <span className={styles.number}>{task ? `#${task.number}` : ""}</span>
          <Truncate>{task?.title ?? ""}</Truncate>
        </a>
        <p className={styles.kind} data-asks>
          {t(`approvals.kind.${approval.kind}`, { agent: agent ?? t("approvals.agent") })}
        </p>
        <p
          dir="auto"
          className={styles.happened}
          data-mono={approval.kind === "command" || undefined}
        >
          {approval.title}
        </p>
        <p className={layout.note}>
          {project} · {t("attention.since")} <RelativeTime at={approval.asked_at} />
        </p>
      </Stack>
      <div className={styles.offers}>
        {quickOptions(approval).map((option) => (
          <Button
            key={option.id}
            size="sm"
            busy={answer.isPending}
            onClick={() =>
              answer.mutate({
                execution_id: approval.execution_id,
                approval_id: approval.id,
                option: option.id,
              })
            }
          >
            {option.label || t(`approvals.choice.${option.choice}`)}
          </Button>
        ))}
        <Button
          size="sm"
          variant="ghost"
          onClick={() => {
            location.hash = href;
          }}
        >
          {t("attention.look")}
        </Button>
      </div>
    </li>
  );
}

/** Up and down through the list; Enter follows the link that has the focus. */
function useListKeys() {
  const { t } = useTranslation();
  const commands = useMemo((): Command[] => {
    const step = (by: 1 | -1) => () => {
      const links = [...document.querySelectorAll<HTMLElement>("[data-attention]")];
      const at = links.findIndex((link) => link === document.activeElement);
      const next = at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by));
      links[next]?.focus();
    };
    const group = t("nav.attention");
    return [
      {
        id: "attention.next",
        label: t("attention.next"),
        group,
        keys: ["j", "arrowdown"],
        run: step(1),
      },
      {
        id: "attention.previous",
        label: t("attention.previous"),
        group,
        keys: ["k", "arrowup"],
        run: step(-1),
      },
    ];
  }, [t]);
  useCommands(commands);
}

export default function AttentionScreen() {
  const { t } = useTranslation();
  const waiting = useOp("attention", { limit: attentionLimit });
  const projects = useOp("project_list", {}).data?.items;
  const names = useMemo(() => new Map(projects?.map(({ id, name }) => [id, name])), [projects]);
  useListKeys();
  const asked = useOp("approval_list", {});
  const items = waiting.data?.items;
  const entries = inboxOf(items ?? [], asked.data?.items ?? []);
  const error = waiting.error ?? asked.error;
  return (
    <Screen title={t("nav.attention")} layout="page">
      {error ? (
        <ErrorState
          title={t("attention.failed")}
          error={error}
          onRetry={() => {
            void waiting.refetch();
            void asked.refetch();
          }}
        />
      ) : !items || !asked.data ? (
        <SkeletonText lines={5} />
      ) : entries.length === 0 ? (
        <EmptyState icon={<Inbox />} title={t("screen.attention.title")}>
          {t("screen.attention.text")}
        </EmptyState>
      ) : (
        <Stack as="ul" gap={3} aria-label={t("nav.attention")}>
          {entries.map((entry) =>
            entry.kind === "task" ? (
              <Row
                key={entry.task.id}
                task={entry.task}
                project={names.get(entry.task.project_id) ?? ""}
              />
            ) : (
              <AskRow
                key={entry.approval.id}
                approval={entry.approval}
                project={names.get(entry.approval.project_id) ?? ""}
              />
            ),
          )}
        </Stack>
      )}
    </Screen>
  );
}
