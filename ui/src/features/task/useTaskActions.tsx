/** What can be done to a task as menu entries: data, so that menu, buttons and keys agree. */
import { ArrowRightLeft, Ban, Copy, Pause, Play, StepForward, Square, Trash2 } from "lucide-react";
import { useState } from "react";
import { useOp } from "#ui/api/client.ts";
import type { Agent, Offer, Task, TaskAndReview, Verb, WorkflowView } from "#ui/api/generated.ts";
import { placeEntries } from "#ui/app/PlaceButtons.tsx";
import { leavesWork, mergingState } from "#ui/domain/closing/closing.ts";
import type { CloseQuestionProps } from "#ui/domain/closing/CloseQuestion.tsx";
import { offerMoveBack } from "#ui/domain/undo/acts.ts";
import { copyLinks, isStartable, starterOf } from "#ui/domain/taskActions.ts";
import { kindOfState } from "#ui/domain/stateKinds.ts";
import { Avatar } from "#ui/components/Avatar.tsx";
import type { MenuEntry } from "#ui/components/Menu.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { t } from "#ui/i18n/index.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import type { Platform } from "#ui/platform/types.ts";
import { isClosed, movesFrom, stateOf } from "./state.ts";
import type { Action } from "./useAction.ts";

export interface TaskActions {
  /** The one thing the header offers as a button. */
  readonly main: { readonly kind: "start" | "stop"; readonly run: () => void } | null;
  /** Agents that can be given the task, when nobody holds the work yet. */
  readonly starters: readonly MenuEntry[];
  readonly moves: readonly MenuEntry[];
  readonly menu: readonly MenuEntry[];
  /** The offer that is asked about before it is taken. */
  readonly confirm: Offer | null;
  readonly onConfirm: () => void;
  readonly onConfirmClose: () => void;
  /** A closed task is about to be deleted. */
  readonly deleting: { readonly onDelete: () => void; readonly onKeep: () => void } | null;
  /** A move that would leave work behind is asked about. */
  readonly closing: Omit<CloseQuestionProps, "tasks"> | null;
}

function movesOf(
  task: Task,
  view: WorkflowView | undefined,
  go: (to: string) => void,
): MenuEntry[] {
  const workflow = view?.workflow;
  return movesFrom(view?.moves ?? [], task.status).map((to) => {
    const state = stateOf(workflow, to);
    return {
      id: `move:${to}`,
      label: state?.display_name ?? to,
      icon: <StateGlyph kind={kindOfState(state, workflow?.cancellation_state)} label="" />,
      onSelect: () => go(to),
    };
  });
}

function startersOf(agents: readonly Agent[], start: (holder: string) => void): MenuEntry[] {
  return [
    ...agents.map((agent) => ({
      id: `start:${agent.id}`,
      label: agent.name,
      icon: <Avatar name={agent.name} size={16} />,
      disabled: agent.paused,
      ...(agent.paused ? { note: t("task.agentPaused") } : {}),
      onSelect: () => start(agent.id),
    })),
    { id: "start:user", label: t("task.you"), onSelect: () => start("user") },
  ];
}

function placesOf(task: Task, platform: Platform): MenuEntry[] {
  if (!task.workspace || task.workspace.status === "cleaned") return [];
  return [...placeEntries(platform, task.workspace), { kind: "separator", id: "places" }];
}

function submenu(
  id: string,
  label: string,
  icon: React.ReactNode,
  entries: MenuEntry[],
): MenuEntry[] {
  return entries.length === 0 ? [] : [{ kind: "submenu", id, label, icon, entries }];
}

/** Holding and releasing: offers of the engine that stand at all times. */
function pausesOf(task: Task, take: (verb: Verb) => void): MenuEntry[] {
  const icons = { hold: <Pause />, release: <StepForward /> };
  return (["hold", "release"] as const).flatMap((verb) => {
    const offer = task.offers.find((each) => each.verb === verb);
    if (!offer) return [];
    const { label, why } = offer;
    return [{ id: verb, label, note: why, icon: icons[verb], onSelect: () => take(verb) }];
  });
}

export function useTaskActions(
  task: Task,
  view: WorkflowView | undefined,
  action: Action,
  onGone: () => void,
): TaskActions {
  const platform = usePlatform();
  const agents = useOp("agent_list", {}).data?.items ?? [];
  const [asking, setAsking] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const [closingTo, setClosingTo] = useState<string | null>(null);
  const { id, version, live } = task;

  const claim = async (holder: string) => {
    // Another agent than the one that holds the role is given the role first.
    const role = view?.claim_role ?? view?.work_role;
    const present = role === undefined || role === null ? null : task.roles[role];
    const isHeld = present !== null && present !== undefined && present.id !== holder;
    let now: number | undefined = version;
    if (role && isHeld && holder !== "user") {
      now = (await action.run("task_assign", { task_id: id, role, holder, version }))?.version;
    }
    if (now !== undefined) {
      await action.run("task_claim", { task_id: id, agent_id: holder, version: now });
    }
  };
  const start = (holder: string) => void claim(holder);
  const take = (verb: Verb) =>
    action.run("task_action", { task_id: id, verb, version, wait: "none" });
  const offerBack = (answer: TaskAndReview | null, to: string) => {
    // A start that waits is taken back where it is told of.
    if (!answer || !view || answer.task.waiting?.reason === "undo") return;
    const name = stateOf(view.workflow, to)?.display_name ?? to;
    offerMoveBack(platform, view, [{ task, to, place: {} }], name);
  };
  const go = async (to: string) =>
    offerBack(await action.run("task_transition", { task_id: id, to, version, wait: "none" }), to);
  const giveUp = async () => {
    const answer = await take("cancel");
    if (view) offerBack(answer, view.workflow.cancellation_state);
  };
  const stop = live
    ? () => void action.run("execution_stop", { execution_id: live.execution_id })
    : null;

  const startable = isStartable(task, view);
  const worker = starterOf(task, view);
  const cancel = task.offers.find(({ verb }) => verb === "cancel") ?? null;
  const starters = startable ? startersOf(agents, start) : [];
  const moves = movesOf(task, view, (to) => {
    if (view && leavesWork(view, task, to)) setClosingTo(to);
    else void go(to);
  });
  const ending: MenuEntry[] = cancel
    ? [
        { kind: "separator", id: "ending" },
        {
          id: "cancel",
          label: cancel.label,
          icon: <Ban />,
          danger: true,
          onSelect: () => setAsking(true),
        },
      ]
    : [];

  const remove = async () => {
    setDeleting(false);
    if (await action.run("task_delete", { task_id: id, version })) onGone();
  };
  // The engine deletes closed tasks alone.
  const removal: MenuEntry[] = isClosed(task, view?.workflow)
    ? [
        { kind: "separator", id: "removal" },
        {
          id: "delete",
          label: t("task.delete"),
          icon: <Trash2 />,
          danger: true,
          onSelect: () => setDeleting(true),
        },
      ]
    : [];

  const merging = view ? mergingState(view, [task]) : null;
  const closing = (to: string) => {
    const answer = (state: string) => () => {
      setClosingTo(null);
      void go(state);
    };
    return {
      onMerge: merging === null ? null : answer(merging),
      onClose: answer(to),
      onCancel: () => setClosingTo(null),
    };
  };

  return {
    main: stop
      ? { kind: "stop", run: stop }
      : startable && worker
        ? { kind: "start", run: () => start(worker) }
        : null,
    starters,
    moves,
    menu: [
      ...submenu("start", t("task.startWith"), <Play />, starters),
      ...(stop ? [{ id: "stop", label: t("task.stop"), icon: <Square />, onSelect: stop }] : []),
      ...pausesOf(task, (verb) => void take(verb)),
      ...submenu("move", t("task.moveTo"), <ArrowRightLeft />, moves),
      { kind: "separator", id: "doing" },
      ...placesOf(task, platform),
      { id: "link", label: t("task.copyLink"), icon: <Copy />, onSelect: () => copyLinks([task]) },
      ...ending,
      ...removal,
    ],
    confirm: asking ? cancel : null,
    onConfirm: () => {
      void giveUp();
      setAsking(false);
    },
    onConfirmClose: () => setAsking(false),
    deleting: isDeleting
      ? { onDelete: () => void remove(), onKeep: () => setDeleting(false) }
      : null,
    closing: closingTo === null ? null : closing(closingTo),
  };
}
