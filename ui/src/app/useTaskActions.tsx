/**
 * What can be done to a task, as data: the one definition for its panel, its card, the palette and Attention. Questions
 * that come before a deed are `TaskQuestions`, over the same data.
 */
import { Ban, Pause, Play, StepForward, UserRound, UserRoundX } from "lucide-react";
import { useState } from "react";
import { useOp } from "#ui/api/client.ts";
import type {
  Agent,
  Offer,
  Operations,
  Task,
  TaskAndReview,
  Verb,
  WorkflowView,
} from "#ui/api/generated.ts";
import { openInEditor, placeEntries } from "#ui/app/PlaceButtons.tsx";
import { listActions, type ListedAction } from "#ui/app/taskActionList.tsx";
import { leavesWork, mergingState } from "#ui/domain/closing/closing.ts";
import type { CloseQuestionProps } from "#ui/domain/closing/CloseQuestion.tsx";
import { offerMoveBack, offerRoleBack } from "#ui/domain/undo/acts.ts";
import { movesFrom, stateOf } from "#ui/domain/steps.ts";
import { copyLinks, isStartable, starterOf, type TaskActionId } from "#ui/domain/taskActions.ts";
import { kindOfState } from "#ui/domain/stateKinds.ts";
import { Avatar } from "#ui/components/Avatar.tsx";
import type { MenuEntry } from "#ui/components/Menu.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { t } from "#ui/i18n/index.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import type { Platform } from "#ui/platform/types.ts";

type Op = Extract<keyof Operations, string>;

/** Does one operation; answers null when it failed, which whoever does it has said. */
export type Perform = <Name extends Op>(
  op: Name,
  input: Operations[Name]["input"],
) => Promise<Operations[Name]["output"] | null>;

export interface TaskActions {
  /** The one thing the header offers as a button. */
  readonly main: { readonly kind: "start" | "stop"; readonly run: () => void } | null;
  /** Agents that can be given the task, when nobody holds the work yet. */
  readonly starters: readonly MenuEntry[];
  readonly moves: readonly MenuEntry[];
  readonly menu: readonly MenuEntry[];
  /** Those of the menu that no selection has, for a menu that also serves several. */
  readonly own: readonly MenuEntry[];
  readonly questions: Questions;
}

export interface Questions {
  readonly task: Task;
  /** The offer that is asked about before it is taken. */
  readonly confirm: Offer | null;
  readonly onConfirm: () => void;
  /** A closed task is about to be deleted. */
  readonly isDeleting: boolean;
  readonly onDelete: () => void;
  /** A move that would leave work behind is asked about. */
  readonly closing: Omit<CloseQuestionProps, "tasks"> | null;
  readonly onKeep: () => void;
}

/** What is asked before it is done, and of which task. */
type Asked =
  | { readonly id: string; readonly kind: "cancel" | "delete" }
  | { readonly id: string; readonly kind: "close"; readonly to: string }
  | null;

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

/** Who can be given which role; each role has a list of its own where there are several. */
function holdersOf(
  view: WorkflowView | undefined,
  agents: readonly Agent[],
  give: (role: string, holder: string | null) => void,
): MenuEntry[] {
  const roles = view?.workflow.roles ?? [];
  const lists = roles.map(({ name, display_name }): MenuEntry & { kind: "submenu" } => ({
    kind: "submenu",
    id: `assign:${name}`,
    label: display_name,
    entries: [
      ...agents.map((agent) => ({
        id: `assign:${name}:${agent.id}`,
        label: agent.name,
        icon: <Avatar name={agent.name} size={16} />,
        ...(agent.paused ? { note: t("task.agentPaused") } : {}),
        onSelect: () => give(name, agent.id),
      })),
      {
        id: `assign:${name}:user`,
        label: t("task.you"),
        icon: <UserRound />,
        onSelect: () => give(name, "user"),
      },
      {
        id: `assign:${name}:`,
        label: t("task.nobody"),
        icon: <UserRoundX />,
        onSelect: () => give(name, null),
      },
    ],
  }));
  return lists.length === 1 ? [...(lists[0]?.entries ?? [])] : lists;
}

/** Where else than in the editor its worktree can be opened. */
function placesOf(task: Task, platform: Platform): MenuEntry[] {
  if (!task.workspace || task.workspace.status === "cleaned") return [];
  return placeEntries(platform, task.workspace).filter(({ id }) => id !== "editor");
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

/** The move that a state's own step or a menu means by a name. */
export const moveTo = ({ moves }: Pick<TaskActions, "moves">, to: string) => {
  const entry = moves.find(({ id }) => id === `move:${to}`);
  return entry && "onSelect" in entry ? entry : undefined;
};

interface Surroundings {
  readonly view: WorkflowView | undefined;
  readonly platform: Platform;
  readonly agents: readonly Agent[];
  readonly run: Perform;
  readonly onGone: (task: Task) => void;
  readonly asked: Asked;
  readonly ask: (asked: Asked) => void;
}

/** What is done to the task, each by one operation of the contract. */
function deedsOf(task: Task, { view, platform, run, onGone, ask }: Surroundings) {
  const { id, version, live } = task;
  const claim = async (holder: string) => {
    // Another agent than the one that holds the role is given the role first.
    const role = view?.claim_role ?? view?.work_role;
    const present = role === undefined || role === null ? null : task.roles[role];
    const isHeld = present !== null && present !== undefined && present.id !== holder;
    let now: number | undefined = version;
    if (role && isHeld && holder !== "user") {
      now = (await run("task_assign", { task_id: id, role, holder, version }))?.version;
    }
    if (now !== undefined) {
      await run("task_claim", { task_id: id, agent_id: holder, version: now });
    }
  };
  const give = async (role: string, holder: string | null) => {
    const done = await run("task_assign", { task_id: id, role, holder, version });
    if (done) offerRoleBack(platform, [task], role, holder);
  };
  const take = (verb: Verb) => run("task_action", { task_id: id, verb, version, wait: "none" });
  const offerBack = (answer: TaskAndReview | null, to: string) => {
    // A start that waits is taken back where it is told of.
    if (!answer || !view || answer.task.waiting?.reason === "undo") return;
    const name = stateOf(view.workflow, to)?.display_name ?? to;
    offerMoveBack(platform, view, [{ task, to, place: {} }], name);
  };
  const moveNow = async (to: string) =>
    offerBack(await run("task_transition", { task_id: id, to, version, wait: "none" }), to);
  return {
    start: (holder: string) => void claim(holder),
    give: (role: string, holder: string | null) => void give(role, holder),
    stop: live ? () => void run("execution_stop", { execution_id: live.execution_id }) : null,
    take: (verb: Verb) => void take(verb),
    moveNow: (to: string) => void moveNow(to),
    move: (to: string) => {
      if (view && leavesWork(view, task, to)) ask({ id, kind: "close", to });
      else void moveNow(to);
    },
    giveUp: async () => {
      const answer = await take("cancel");
      if (view) offerBack(answer, view.workflow.cancellation_state);
    },
    remove: async () => {
      if (await run("task_delete", { task_id: id, version })) onGone(task);
    },
  };
}

type Deeds = ReturnType<typeof deedsOf>;

function questionsOf(task: Task, deeds: Deeds, { view, asked, ask }: Surroundings): Questions {
  const { id } = task;
  const mine = asked?.id === id ? asked : null;
  const onKeep = () => ask(null);
  const after = (deed: () => unknown) => () => {
    onKeep();
    void deed();
  };
  const merging = view ? mergingState(view, [task]) : null;
  const to = mine?.kind === "close" ? mine.to : null;
  const cancel = task.offers.find(({ verb }) => verb === "cancel") ?? null;
  return {
    task,
    confirm: mine?.kind === "cancel" ? cancel : null,
    onConfirm: after(deeds.giveUp),
    isDeleting: mine?.kind === "delete",
    onDelete: after(deeds.remove),
    closing:
      to === null
        ? null
        : {
            onMerge: merging === null ? null : after(() => deeds.moveNow(merging)),
            onClose: after(() => deeds.moveNow(to)),
            onCancel: onKeep,
          },
    onKeep,
  };
}

/** What ends a task. */
function endsOf(task: Task, { ask }: Surroundings): MenuEntry[] {
  const { id } = task;
  const cancel = task.offers.find(({ verb }) => verb === "cancel");
  if (!cancel) return [];
  const onSelect = () => ask({ id, kind: "cancel" });
  return [{ id: "cancel", label: cancel.label, icon: <Ban />, danger: true, onSelect }];
}

/** An action of the list as an entry of a menu; none where it cannot be done. */
function entryOf(
  { id, label, icon, danger, closed }: ListedAction,
  deed: (() => void) | MenuEntry[],
): MenuEntry[] {
  if (Array.isArray(deed)) return submenu(id, label, icon, deed);
  return closed === null ? [{ id, label, icon, danger, onSelect: deed }] : [];
}

function actionsOf(task: Task, around: Surroundings): TaskActions {
  const { view, platform, agents, ask } = around;
  const deeds = deedsOf(task, around);
  const { start, stop } = deeds;
  const startable = isStartable(task, view);
  const worker = starterOf(task, view);
  const starters = startable ? startersOf(agents, start) : [];
  const moves = movesOf(task, view, deeds.move);
  const pauses = pausesOf(task, deeds.take);
  const places = placesOf(task, platform);
  const ends = endsOf(task, around);
  const doing: Readonly<Record<TaskActionId, (() => void) | MenuEntry[]>> = {
    start: () => worker !== null && start(worker),
    stop: () => stop?.(),
    move: moves,
    assign: holdersOf(view, agents, deeds.give),
    link: () => copyLinks([task]),
    editor: () => openInEditor(platform, task.workspace),
    delete: () => ask({ id: task.id, kind: "delete" }),
  };
  const listed = new Map(listActions([task], view).map((each) => [each.id, each]));
  const entries = (...ids: TaskActionId[]) =>
    ids.flatMap((id) => {
      const action = listed.get(id);
      return action ? entryOf(action, doing[id]) : [];
    });
  const startWith = submenu("startWith", t("task.startWith"), <Play />, starters);
  const ending = [...ends, ...entries("delete")];
  return {
    main: stop
      ? { kind: "stop", run: stop }
      : startable && worker
        ? { kind: "start", run: () => start(worker) }
        : null,
    starters,
    moves,
    menu: [
      ...entries("start"),
      ...startWith,
      ...entries("stop"),
      ...pauses,
      ...entries("move", "assign"),
      { kind: "separator", id: "doing" },
      ...entries("link", "editor"),
      ...places,
      ...(ending.length > 0 ? [{ kind: "separator" as const, id: "ending" }] : []),
      ...ending,
    ],
    own: [...startWith, ...pauses, ...places, ...ends],
    questions: questionsOf(task, deeds, around),
  };
}

/** Answers what can be done to a task of the project. */
export function useTaskActions(
  view: WorkflowView | undefined,
  run: Perform,
  onGone: (task: Task) => void = () => {},
): (task: Task) => TaskActions {
  const platform = usePlatform();
  const agents = useOp("agent_list", {}).data?.items ?? [];
  const [asked, ask] = useState<Asked>(null);
  return (task) => actionsOf(task, { view, platform, agents, run, onGone, asked, ask });
}
