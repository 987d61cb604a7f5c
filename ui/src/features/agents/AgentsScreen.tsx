import { Bot, FlaskConical, Pause, Pencil, Play, Plus, RefreshCw, Trash2 } from "lucide-react";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { setQuery, useRoute } from "#ui/app/router.ts";
import { Screen } from "#ui/app/Screen.tsx";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import type { Agent, AgentLimits } from "#ui/api/generated.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Avatar } from "#ui/components/Avatar.tsx";
import { Badge } from "#ui/components/Badge.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { Skeleton, SkeletonText } from "#ui/components/Skeleton.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { AgentDialog } from "./AgentDialog.tsx";
import { OnThisMachine } from "./OnThisMachine.tsx";
import { ProviderLimits } from "./ProviderLimits.tsx";
import { Scoreboard } from "./Scoreboard.tsx";
import { Standing } from "#ui/domain/programs/Standing.tsx";
import { Trial } from "./Trial.tsx";
import { commandLine, formOf } from "./form.ts";
import { untilNextReset } from "./windows.ts";
import { Row } from "#ui/components/Row.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./AgentsScreen.module.css";

function Program({ agent }: { agent: Agent }) {
  const { t } = useTranslation();
  const check = useOp("agent_check", { agent_id: agent.id });
  if (check.isFetching) return <Skeleton width={180} />;
  if (!check.data) return <p className={layout.error}>{check.error?.message}</p>;
  return (
    <Standing check={check.data}>
      <IconButton
        size="sm"
        label={t("agents.checkAgain")}
        icon={<RefreshCw />}
        onClick={() => void check.refetch()}
      />
    </Standing>
  );
}

/** How it is driven, what it asks for, and what it may do. */
function Facts({ agent }: { agent: Agent }) {
  const { t } = useTranslation();
  const { effort, permissions, cost } = formOf(agent);
  const facts = [
    t(`agents.adapters.${agent.adapter}`),
    ...(agent.adapter === "shell"
      ? []
      : [agent.model ?? t("agents.modelHint"), t(`agents.permissionModes.${permissions}`)]),
    ...(effort ? [t("agents.effortIs", { effort })] : []),
    ...(cost ? [t("agents.costIs", { cost })] : []),
  ];
  return (
    <p className={styles.facts}>
      {facts.map((fact, index) => (
        <span key={index}>{fact}</span>
      ))}
    </p>
  );
}

function AgentRow({
  agent,
  limits,
  onEdit,
}: {
  agent: Agent;
  limits: AgentLimits | undefined;
  onEdit: () => void;
}) {
  const { t } = useTranslation();
  const [removing, setRemoving] = useState(false);
  const [trying, setTrying] = useState(false);
  const onError = (error: Error) =>
    showToast({ tone: "danger", title: t("agents.notChanged"), detail: error.message });
  const pause = useOpMutation("agent_pause", { onError });
  const resume = useOpMutation("agent_resume", { onError });
  const remove = useOpMutation("agent_delete", { onSuccess: () => setRemoving(false) });
  return (
    <li className={styles.row}>
      <Avatar name={agent.name} size={28} live={agent.running > 0} />
      <Stack gap={0} fill>
        <Row as="h3" gap={3}>
          {agent.name}
          {agent.paused && (
            <Badge tone="warning" icon={<Pause />}>
              {t("agents.paused")}
            </Badge>
          )}
          <span className={styles.running}>
            {t("agents.running", { running: agent.running, most: agent.max_concurrent })}
          </span>
        </Row>
        <Facts agent={agent} />
        <code className={styles.command} data-selectable>
          {commandLine(agent)}
        </code>
        <Program agent={agent} />
        {limits && <ProviderLimits name={agent.name} limits={limits} />}
      </Stack>
      <div className={styles.actions}>
        <IconButton
          label={t("agents.try", { name: agent.name })}
          icon={<FlaskConical />}
          onClick={() => setTrying(true)}
        />
        {agent.paused ? (
          <IconButton
            label={t("agents.resume", { name: agent.name })}
            icon={<Play />}
            onClick={() => resume.mutate({ agent_id: agent.id })}
          />
        ) : (
          <IconButton
            label={t("agents.pause", { name: agent.name })}
            icon={<Pause />}
            onClick={() => pause.mutate({ agent_id: agent.id })}
          />
        )}
        <IconButton
          label={t("agents.edit", { name: agent.name })}
          icon={<Pencil />}
          onClick={onEdit}
        />
        <IconButton
          label={t("agents.delete", { name: agent.name })}
          icon={<Trash2 />}
          onClick={() => setRemoving(true)}
        />
      </div>
      {trying && <Trial agent={agent} onClose={() => setTrying(false)} />}
      <AlertDialog
        open={removing}
        onOpenChange={(open) => {
          setRemoving(open);
          remove.reset();
        }}
        danger
        busy={remove.isPending}
        title={t("agents.deleteTitle", { name: agent.name })}
        description={t("agents.deleteText")}
        confirmLabel={t("agents.deleteAction")}
        onConfirm={() => remove.mutate({ agent_id: agent.id })}
      >
        {remove.error && (
          <Banner tone="danger" title={t("agents.notDeleted")}>
            {errorText(remove.error)}
          </Banner>
        )}
      </AlertDialog>
    </li>
  );
}

const views = ["profiles", "scoreboard"] as const;

/** Which of the two is shown stands in the address. */
function useView(): (typeof views)[number] {
  const route = useRoute();
  return route.name !== null && route.query["view"] === "scoreboard" ? "scoreboard" : "profiles";
}

function Views() {
  const { t } = useTranslation();
  return (
    <SegmentedControl
      label={t("agents.view")}
      value={useView()}
      segments={views.map((value) => ({ value, label: t(`agents.views.${value}`) }))}
      onChange={(value) => setQuery({ view: value === "profiles" ? null : value })}
    />
  );
}

export default function AgentsScreen() {
  const { t } = useTranslation();
  const view = useView();
  if (view === "profiles") return <Profiles />;
  return (
    <Screen title={t("nav.agents")} layout="full" filters={<Views />}>
      <div className={layout.widePage}>
        <Scoreboard />
      </div>
    </Screen>
  );
}

function Profiles() {
  const { t } = useTranslation();
  const agents = useOp("agent_list", {});
  const limits = useOp(
    "agent_limits",
    {},
    { everyMs: (page) => untilNextReset(page?.items, Date.now()) },
  );
  const [editing, setEditing] = useState<Agent | "new" | null>(null);
  const commands = useMemo(
    (): Command[] => [
      {
        id: "agents.add",
        label: t("agents.addAction"),
        group: t("nav.agents"),
        keys: ["n"],
        icon: <Plus />,
        run: () => setEditing("new"),
      },
    ],
    [t],
  );
  useCommands(commands);
  const items = agents.data?.items;
  const add = (
    <Button variant="primary" size="sm" keys="n" icon={<Plus />} onClick={() => setEditing("new")}>
      {t("agents.addAction")}
    </Button>
  );
  return (
    <Screen
      title={t("nav.agents")}
      layout="page"
      filters={<Views />}
      actions={items?.length ? add : undefined}
    >
      {agents.error ? (
        <ErrorState
          title={t("agents.failed")}
          error={agents.error}
          onRetry={() => void agents.refetch()}
        />
      ) : !items ? (
        <SkeletonText lines={5} />
      ) : (
        <Stack gap={8}>
          <Stack as="section" gap={3} aria-label={t("agents.profiles")}>
            <div className={styles.sectionHead}>
              <h2>{t("agents.profiles")}</h2>
            </div>
            {limits.error && (
              <Banner tone="danger" title={t("agents.limitsFailed")}>
                {errorText(limits.error)}
              </Banner>
            )}
            {items.length === 0 ? (
              <EmptyState
                icon={<Bot />}
                title={t("screen.agents.title")}
                actions={
                  <Button variant="primary" icon={<Plus />} onClick={() => setEditing("new")}>
                    {t("agents.addFirst")}
                  </Button>
                }
              >
                {t("agents.emptyText")}
              </EmptyState>
            ) : (
              <ul className={layout.surface} aria-label={t("nav.agents")}>
                {items.map((agent) => (
                  <AgentRow
                    key={agent.id}
                    agent={agent}
                    limits={limits.data?.items.find(({ agent_id }) => agent_id === agent.id)}
                    onEdit={() => setEditing(agent)}
                  />
                ))}
              </ul>
            )}
          </Stack>
          <OnThisMachine agents={items} />
        </Stack>
      )}
      {editing !== null && (
        <AgentDialog agent={editing === "new" ? null : editing} onClose={() => setEditing(null)} />
      )}
    </Screen>
  );
}
