import { Ellipsis, Lock, PanelRight, Pin, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { placeEntries } from "#ui/app/PlaceButtons.tsx";
import { MachineBadge } from "#ui/domain/machines/MachineBadge.tsx";
import { machineOf } from "#ui/domain/machines/machines.ts";
import { useMachineMap } from "#ui/domain/machines/useMachines.ts";
import { RemoveWorktree } from "#ui/domain/RemoveWorktree.tsx";
import { formatRoute, navigate } from "#ui/app/router.ts";
import { bytes } from "#ui/domain/size.ts";
import { kindOfState } from "#ui/domain/stateKinds.ts";
import { useStates } from "#ui/domain/useStates.ts";
import { workspaceTones } from "#ui/domain/workspaceTones.ts";
import { useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import type { WorkspaceView } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Menu, type MenuEntry } from "#ui/components/Menu.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import styles from "./Workspaces.module.css";

/** A task's worktree: which task, how it is, what it takes, and when it goes. */
export function WorktreeRow({ worktree }: { worktree: WorkspaceView }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const [removing, setRemoving] = useState(false);
  const state = useStates(worktree.project_id).get(worktree.task_status);
  const { project_id: project, task_id: id, task_number: number } = worktree;
  const keep = useOpMutation("workspace_keep", {
    onError: (error) =>
      showToast({
        tone: "danger",
        title: t("workspaces.keepFailed", { number }),
        detail: errorText(error),
      }),
  });
  const machine = useMachineMap().get(machineOf(worktree) ?? "");
  const closed = state?.kind === "terminal";
  const planned = worktree.cleanup_at !== null;
  const address = ["task", { project, number: String(number) }, { tab: "workspace" }] as const;
  const closing: MenuEntry[] = closed
    ? [
        { kind: "separator", id: "closing" },
        ...(planned
          ? [
              {
                id: "keep",
                label: t("workspace.keep"),
                icon: <Pin />,
                onSelect: () => keep.mutate({ task_id: id }),
              },
            ]
          : []),
        {
          id: "remove",
          label: t("workspace.remove"),
          icon: <Trash2 />,
          danger: true,
          onSelect: () => setRemoving(true),
        },
      ]
    : [];
  return (
    <li className={styles.row}>
      <StateGlyph
        kind={state?.cancels ? "cancelled" : kindOfState(state)}
        label={state?.display_name ?? worktree.task_status}
      />
      <div className={styles.text}>
        <a className={styles.title} href={formatRoute(...address)} data-worktree>
          <span className={styles.number}>#{number}</span>
          <span dir="auto">{worktree.task_title}</span>
        </a>
        <p className={styles.meta}>
          <code title={worktree.branch} data-selectable>
            {worktree.branch}
          </code>
          {machine && <MachineBadge machine={machine} />}
          <span>
            {t("workspaces.changed")} <RelativeTime at={worktree.updated_at} />
          </span>
        </p>
        {worktree.error && (
          <p className={styles.error} data-selectable>
            {worktree.error}
          </p>
        )}
      </div>
      <div className={styles.side}>
        {worktree.lock && (
          <Badge tone="accent" icon={<Lock />}>
            {t("workspaces.locked")}
          </Badge>
        )}
        {/* That a worktree can be worked in goes without saying. */}
        {worktree.status !== "active" && (
          <Badge tone={workspaceTones[worktree.status]}>
            {t(`workspace.is.${worktree.status}`)}
            {worktree.cleanup_at && <RelativeTime at={worktree.cleanup_at} isAhead />}
          </Badge>
        )}
        <span className={styles.size}>
          {worktree.disk_bytes === null ? "–" : bytes(worktree.disk_bytes)}
        </span>
        <Menu
          align="end"
          entries={[
            {
              id: "open",
              label: t("workspaces.open"),
              icon: <PanelRight />,
              onSelect: () => navigate(...address),
            },
            { kind: "separator", id: "places" },
            ...placeEntries(platform, worktree),
            ...closing,
          ]}
          trigger={
            <IconButton size="sm" label={t("workspaces.actions", { number })} icon={<Ellipsis />} />
          }
        />
      </div>
      <RemoveWorktree task={{ id, number }} open={removing} onOpenChange={setRemoving} />
    </li>
  );
}
