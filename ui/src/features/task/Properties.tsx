import { Coins, UserRound } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Agent, RoleHolder, Task, WorkflowView } from "#ui/api/generated.ts";
import {
  priorityLevel,
  priorityLevels,
  priorityNumber,
  type PriorityLevel,
} from "#ui/domain/priority.ts";
import { MachineBadge } from "#ui/domain/machines/MachineBadge.tsx";
import { machineOf } from "#ui/domain/machines/machines.ts";
import { contactWords, useMachineMap } from "#ui/domain/machines/useMachines.ts";
import { offerPriorityBack, offerRoleBack } from "#ui/domain/undo/acts.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { Avatar } from "#ui/components/Avatar.tsx";
import { DiffCount } from "#ui/components/DiffCount.tsx";
import { Menu, type MenuEntry } from "#ui/components/Menu.tsx";
import { PriorityGlyph } from "#ui/components/PriorityGlyph.tsx";
import { Tooltip } from "#ui/components/Tooltip.tsx";
import { Elapsed } from "#ui/components/Elapsed.tsx";
import { compact, money } from "./numbers.ts";
import { isSaid } from "./state.ts";
import type { Action } from "./useAction.ts";
import { Truncate } from "#ui/components/Truncate.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Properties.module.css";

const levelOf = (level: PriorityLevel) => priorityNumber(level) as 0 | 1 | 2 | 3 | 4;

function RoleChip({
  task,
  role,
  label,
  agents,
  action,
}: {
  task: Task;
  role: string;
  label: string;
  agents: readonly Agent[];
  action: Action;
}) {
  const { t } = useTranslation();
  const holder: RoleHolder | null | undefined = task.roles[role];
  const agent = agents.find(({ id }) => id === holder?.id);
  const platform = usePlatform();
  const give = async (to: string | null) => {
    const { id, version } = task;
    const done = await action.run("task_assign", { task_id: id, role, holder: to, version });
    if (done) offerRoleBack(platform, [task], role, to);
  };
  const entries: MenuEntry[] = [
    { kind: "label", id: "role", label },
    ...agents.map((each) => ({
      id: each.id,
      label: each.name,
      icon: <Avatar name={each.name} size={16} />,
      ...(each.paused ? { note: t("task.agentPaused") } : {}),
      onSelect: () => void give(each.id),
    })),
    { id: "user", label: t("task.you"), icon: <UserRound />, onSelect: () => void give("user") },
    { kind: "separator", id: "none-above" },
    { id: "nobody", label: t("task.nobody"), onSelect: () => void give(null) },
  ];
  const name = agent?.name ?? (holder?.type === "user" ? t("task.you") : t("task.nobody"));
  return (
    <Menu
      entries={entries}
      trigger={
        <button
          type="button"
          className={styles.chip}
          aria-label={t("task.roleIs", { role: label, name })}
        >
          {agent ? (
            <Avatar name={agent.name} size={16} live={task.live?.agent_id === agent.id} />
          ) : (
            <UserRound aria-hidden />
          )}
          {/* Two words to whoever reads it, though the space between is the layout's. */}
          <span className={layout.faint}>{label}</span>{" "}
          <span data-none={holder ? undefined : true}>{name}</span>
        </button>
      }
    />
  );
}

function PriorityChip({ task, action }: { task: Task; action: Action }) {
  const { t } = useTranslation();
  const level = priorityLevel(task.priority);
  const label = t(`board.priority.${level}`);
  const platform = usePlatform();
  const set = async (priority: number) => {
    const { id, version } = task;
    const done = await action.run("task_update", { task_id: id, version, priority });
    if (done) offerPriorityBack(platform, [task], priority);
  };
  return (
    <Menu
      entries={priorityLevels.map((each) => ({
        id: each,
        label: t(`board.priority.${each}`),
        icon: <PriorityGlyph level={levelOf(each)} label="" />,
        onSelect: () => void set(priorityNumber(each)),
      }))}
      trigger={
        <button
          type="button"
          className={styles.chip}
          aria-label={t("task.priorityIs", { priority: label })}
        >
          <PriorityGlyph level={levelOf(level)} label="" />
          {label}
        </button>
      }
    />
  );
}

function UsageChip({ task }: { task: Task }) {
  const { t } = useTranslation();
  const { usage } = task;
  const input = (usage.input_uncached ?? 0) + (usage.cache_read ?? 0) + (usage.cache_write ?? 0);
  const output = usage.output ?? 0;
  if (usage.cost_micro_usd === null && input + output === 0) return null;
  const tokens = t("conversation.tokens", { input: compact(input), output: compact(output) });
  const unknown =
    usage.runs_of_unknown_cost > 0
      ? ` · ${t("task.unknownCost", { count: usage.runs_of_unknown_cost })}`
      : "";
  return (
    <Tooltip text={`${tokens}${unknown}`}>
      <span className={styles.fact}>
        <Coins aria-hidden />
        {usage.cost_micro_usd === null ? tokens : money(usage.cost_micro_usd)}
        {usage.runs_of_unknown_cost > 0 && usage.cost_micro_usd !== null && "+"}
      </span>
    </Tooltip>
  );
}

/** The machine that the worktree is on; that it cannot be reached is said in full. */
function MachineChip({ task }: { task: Task }) {
  const { t } = useTranslation();
  const machine = useMachineMap().get(machineOf(task.workspace) ?? "");
  if (!machine) return null;
  return (
    <span className={styles.fact} role="group" aria-label={t("task.onMachine", machine)}>
      <MachineBadge machine={machine} />
      {machine.contact === "unreachable" && (
        <span className={styles.unreachable} aria-hidden>
          {contactWords(machine, t)}
        </span>
      )}
    </span>
  );
}

/** Who, how urgent, where, what it has cost so far, and what is being done right now. */
export function Properties({
  task,
  view,
  action,
}: {
  task: Task;
  view: WorkflowView | undefined;
  action: Action;
}) {
  const { t } = useTranslation();
  const agents = useOp("agent_list", {}).data?.items ?? [];
  const { live } = task;
  return (
    <>
      <div className={styles.row}>
        {view?.workflow.roles.map((role) => (
          <RoleChip
            key={role.name}
            task={task}
            role={role.name}
            label={role.display_name}
            agents={agents}
            action={action}
          />
        ))}
        <PriorityChip task={task} action={action} />
        <MachineChip task={task} />
        {task.diff_stat && task.diff_stat.files > 0 && (
          <span className={styles.fact}>
            <span className={styles.files}>{t("diff.files", { count: task.diff_stat.files })}</span>
            <DiffCount added={task.diff_stat.added} removed={task.diff_stat.removed} />
          </span>
        )}
        <UsageChip task={task} />
      </div>
      {live && (
        <p className={styles.live} role="status">
          <span className={styles.pulse} aria-hidden />
          <Truncate fill>{live.activity || t("task.working")}</Truncate>
          <span className={styles.since}>
            <Elapsed since={live.started_at} />
          </span>
        </p>
      )}
      {!live && task.waiting && !isSaid(task.waiting) && (
        <p className={styles.live}>
          <Truncate fill>{task.waiting.message}</Truncate>
          <span className={styles.since}>
            <Elapsed since={task.status_since} />
          </span>
        </p>
      )}
    </>
  );
}
