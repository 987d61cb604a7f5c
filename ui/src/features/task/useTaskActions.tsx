/** What can be done to a task as menu entries: data, so that menu, buttons and keys agree. */
import { ArrowRightLeft, Ban, Copy, Pause, Play, StepForward, Square } from "lucide-react";
import { useState } from "react";
import { useOp } from "#ui/api/client.ts";
import type { Agent, Offer, Task, Verb, WorkflowView } from "#ui/api/generated.ts";
import { placeEntries } from "#ui/app/PlaceButtons.tsx";
import { kindOfState } from "#ui/domain/stateKinds.ts";
import { Avatar } from "#ui/components/Avatar.tsx";
import type { MenuEntry } from "#ui/components/Menu.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { t } from "#ui/i18n/index.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import type { Platform } from "#ui/platform/types.ts";
import { movesFrom, stateOf, workingAgent } from "./state.ts";
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

function copyLink(task: Task): void {
  navigator.clipboard.writeText(`forge://task/${task.id}`).then(
    () => showToast({ tone: "success", title: t("task.linkCopied") }),
    () => showToast({ tone: "danger", title: t("action.copyFailed") }),
  );
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
): TaskActions {
  const platform = usePlatform();
  const agents = useOp("agent_list", {}).data?.items ?? [];
  const [asking, setAsking] = useState(false);
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
    void action.run("task_action", { task_id: id, verb, version, wait: "none" });
  const go = (to: string) =>
    void action.run("task_transition", { task_id: id, to, version, wait: "none" });
  const stop = live
    ? () => void action.run("execution_stop", { execution_id: live.execution_id })
    : null;

  const kind = stateOf(view?.workflow, task.status)?.kind ?? "";
  // What waits or is held up goes on by itself, or by what the banner offers.
  const underWay = kind === "active" && (task.waiting !== null || task.error_annotation !== null);
  const startable = !live && !underWay && ["initial", "active"].includes(kind);
  const worker = workingAgent(task, view?.claim_role) ?? workingAgent(task, view?.work_role);
  const cancel = task.offers.find(({ verb }) => verb === "cancel") ?? null;
  const starters = startable ? startersOf(agents, start) : [];
  const moves = movesOf(task, view, go);
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
      ...pausesOf(task, take),
      ...submenu("move", t("task.moveTo"), <ArrowRightLeft />, moves),
      { kind: "separator", id: "doing" },
      ...placesOf(task, platform),
      { id: "link", label: t("task.copyLink"), icon: <Copy />, onSelect: () => copyLink(task) },
      ...ending,
    ],
    confirm: asking ? cancel : null,
    onConfirm: () => {
      take("cancel");
      setAsking(false);
    },
    onConfirmClose: () => setAsking(false),
  };
}
