/** The services of a task: how each one is and why, where it answers, and what it prints. */
import { ExternalLink, Play, RadioTower, RotateCw, Square } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task, TaskService } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Row } from "#ui/components/Row.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { ActionError } from "../ActionError.tsx";
import { LogView } from "../LogView.tsx";
import parts from "../TabParts.module.css";
import { useAction } from "../useAction.ts";
import { SetUpServices } from "./SetUpServices.tsx";
import { isActive, stateTones } from "./services.ts";

function Buttons({ taskId, service }: { taskId: string; service: TaskService }) {
  const { t } = useTranslation();
  const action = useAction();
  const platform = usePlatform();
  const { name, command, last } = service;
  const which = { task_id: taskId, name };
  const start = () => action.run("service_start", which);
  // A service that ended by itself a moment ago is stopped, too.
  const stop = () => action.runUnless("nothing_running", "service_stop", which);
  const restart = async () => {
    if (await stop()) await start();
  };
  return (
    <>
      <Row wrap>
        {isActive(last) ? (
          <>
            {last.state === "ready" && (
              <Button
                size="sm"
                variant="primary"
                icon={<ExternalLink />}
                onClick={() => void platform.openExternal(last.url)}
              >
                {t("services.open", { name })}
              </Button>
            )}
            {command !== null && (
              <Button
                size="sm"
                icon={<RotateCw />}
                busy={action.busy === "service_start"}
                onClick={() => void restart()}
              >
                {t("services.restart", { name })}
              </Button>
            )}
            <Button
              size="sm"
              icon={<Square />}
              busy={action.busy === "service_stop"}
              onClick={() => void stop()}
            >
              {t("services.stop", { name })}
            </Button>
          </>
        ) : (
          command !== null && (
            <Button
              size="sm"
              icon={<Play />}
              busy={action.busy === "service_start"}
              onClick={() => void start()}
            >
              {t("services.run", { name })}
            </Button>
          )
        )}
      </Row>
      {action.error && (
        <ActionError
          title={t("services.actionFailed", { name })}
          error={action.error}
          onDismiss={action.dismiss}
        />
      )}
    </>
  );
}

function ServiceCard({ taskId, service }: { taskId: string; service: TaskService }) {
  const { t } = useTranslation();
  const { name, command, last } = service;
  return (
    <Stack as="section" gap={3} aria-label={name}>
      <Row wrap>
        <h3>{name}</h3>
        <span role="status">
          {last ? (
            <Badge tone={stateTones[last.state]}>{t(`services.is.${last.state}`)}</Badge>
          ) : (
            <Badge look="outline">{t("services.notStarted")}</Badge>
          )}
        </span>
        {isActive(last) && (
          <span data-selectable>
            <code>{last.url}</code> <CopyButton text={last.url} />
          </span>
        )}
      </Row>
      <code className={layout.faint} data-selectable>
        {command ?? t("services.notNamed")}
      </code>
      {last?.reason && <p data-selectable>{last.reason}</p>}
      <Buttons taskId={taskId} service={service} />
      {last && <LogView key={last.log_id} taskId={taskId} logId={last.log_id} look="inline" />}
    </Stack>
  );
}

export function ServicesTab({ task }: { task: Task }) {
  const { t } = useTranslation();
  const services = useOp("task_services", { task_id: task.id });
  if (services.error && !services.data) {
    return (
      <ErrorState
        title={t("services.failed")}
        error={services.error}
        onRetry={() => void services.refetch()}
      />
    );
  }
  if (!services.data) {
    return (
      <div className={parts.page} aria-busy>
        <SkeletonText lines={4} />
      </div>
    );
  }
  const { items } = services.data;
  if (items.length === 0) {
    return (
      <EmptyState
        icon={<RadioTower />}
        title={t("services.none")}
        actions={<SetUpServices projectId={task.project_id} />}
      >
        {t("services.noneHint")}
      </EmptyState>
    );
  }
  return (
    <div className={parts.page}>
      {items.map((service) => (
        <ServiceCard key={service.name} taskId={task.id} service={service} />
      ))}
    </div>
  );
}
