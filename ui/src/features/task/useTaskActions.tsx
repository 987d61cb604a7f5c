/** What can be done to a task as menu entries: data, so that menu, buttons and keys agree. */
import {
  ArrowRightLeft,
  Ban,
  Copy,
  FolderOpen,
  Pause,
  Play,
  SquareCode,
  SquareTerminal,
  StepForward,
  Square,
} from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task, Verb, WorkflowView } from "#ui/api/generated.ts";
import { kindOfState } from "#ui/app/stateKinds.ts";
import { Avatar } from "#ui/components/Avatar.tsx";
import type { MenuEntry } from "#ui/components/Menu.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { movesFrom, stateOf, workingAgent } from "./state.ts";
import type { Action } from "./useAction.ts";

export interface TaskActions {
  /** The one thing the header offers as a button. */
  readonly main: { readonly kind: "start" | "stop"; readonly run: () => void } | null;
  /** Agents that can be given the task, when nobody holds the work yet. */
  readonly starters: readonly MenuEntry[];
  readonly moves: readonly MenuEntry[];
  readonly menu: readonly MenuEntry[];
  readonly confirm: { readonly verb: Verb; readonly label: string; readonly why: string } | null;
  readonly onConfirm: () => void;
  readonly onConfirmClose: () => void;
}

export function useTaskActions(
  task: Task,
  view: WorkflowView | undefined,
  action: Action,
): TaskActions {
  const { t } = useTranslation();
  const platform = usePlatform();
  const agents = useOp("agent_list", {}).data?.items ?? [];
  const [asked, setAsked] = useState<Verb | null>(null);
  const workflow = view?.workflow;

  const start = (agent: string) =>
    void action.run("task_claim", { task_id: task.id, agent_id: agent, version: task.version });
  const take = (verb: Verb) =>
    void action.run("task_action", { task_id: task.id, verb, version: task.version, wait: "none" });
  const open = (how: (path: string) => Promise<void>, path: string) => {
    how(path).catch((thrown: unknown) =>
      showToast({ tone: "danger", title: t("task.openFailed"), detail: String(thrown) }),
    );
  };

  const kind = stateOf(workflow, task.status)?.kind;
  const startable = !task.live && ["backlog", "initial", "active"].includes(kind ?? "");
  const worker = workingAgent(task, view?.work_role);
  const offer = (verb: Verb) => task.offers.find((each) => each.verb === verb);

  const moves: MenuEntry[] = movesFrom(view?.moves ?? [], task.status).map((to) => {
    const state = stateOf(workflow, to);
    return {
      id: `move:${to}`,
      label: state?.display_name ?? to,
      icon: <StateGlyph kind={kindOfState(state, workflow?.cancellation_state)} label="" />,
      onSelect: () =>
        void action.run("task_transition", {
          task_id: task.id,
          to,
          version: task.version,
          wait: "none",
        }),
    };
  });
  const starters: MenuEntry[] = [
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

  const path = task.workspace && task.workspace.status !== "cleaned" ? task.workspace.path : null;
  const places: MenuEntry[] =
    path === null
      ? []
      : [
          {
            id: "editor",
            label: t("task.openEditor"),
            icon: <SquareCode />,
            onSelect: () => open(platform.openInEditor, path),
          },
          {
            id: "terminal",
            label: t("task.openTerminal"),
            icon: <SquareTerminal />,
            onSelect: () => open(platform.openInTerminal, path),
          },
          {
            id: "files",
            label: t("task.openFiles"),
            icon: <FolderOpen />,
            onSelect: () => open(platform.openPath, path),
          },
          { kind: "separator", id: "places" },
        ];
  const hold = offer("hold");
  const release = offer("release");
  const cancel = offer("cancel");
  const live = task.live;
  const stop = live
    ? () => void action.run("execution_stop", { execution_id: live.execution_id })
    : null;

  const menu: MenuEntry[] = [
    ...(startable && starters.length > 0
      ? [
          {
            kind: "submenu" as const,
            id: "start",
            label: t("task.startWith"),
            icon: <Play />,
            entries: starters,
          },
        ]
      : []),
    ...(stop ? [{ id: "stop", label: t("task.stop"), icon: <Square />, onSelect: stop }] : []),
    ...(hold
      ? [
          {
            id: "hold",
            label: hold.label,
            note: hold.why,
            icon: <Pause />,
            onSelect: () => take("hold"),
          },
        ]
      : []),
    ...(release
      ? [
          {
            id: "release",
            label: release.label,
            note: release.why,
            icon: <StepForward />,
            onSelect: () => take("release"),
          },
        ]
      : []),
    ...(moves.length > 0
      ? [
          {
            kind: "submenu" as const,
            id: "move",
            label: t("task.moveTo"),
            icon: <ArrowRightLeft />,
            entries: moves,
          },
        ]
      : []),
    { kind: "separator", id: "doing" },
    ...places,
    {
      id: "link",
      label: t("task.copyLink"),
      icon: <Copy />,
      onSelect: () => {
        navigator.clipboard.writeText(`forge://task/${task.id}`).then(
          () => showToast({ tone: "success", title: t("task.linkCopied") }),
          () => showToast({ tone: "danger", title: t("action.copyFailed") }),
        );
      },
    },
    ...(cancel
      ? [
          { kind: "separator" as const, id: "ending" },
          {
            id: "cancel",
            label: cancel.label,
            icon: <Ban />,
            danger: true,
            onSelect: () => setAsked("cancel"),
          },
        ]
      : []),
  ];

  const asking = asked ? offer(asked) : undefined;
  return {
    main: stop
      ? { kind: "stop", run: stop }
      : startable && worker
        ? { kind: "start", run: () => start(worker) }
        : null,
    starters: startable ? starters : [],
    moves,
    menu,
    confirm: asking ? { verb: asking.verb, label: asking.label, why: asking.why } : null,
    onConfirm: () => {
      if (asked) take(asked);
      setAsked(null);
    },
    onConfirmClose: () => setAsked(null),
  };
}
