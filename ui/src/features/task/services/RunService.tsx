/** Starts the task's service, shows that it starts, and opens it once it is ready; says where to name one. */
import { ExternalLink, Play } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { Button } from "#ui/components/Button.tsx";
import { Popover } from "#ui/components/Popover.tsx";
import layout from "#ui/components/layout.module.css";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import type { Action } from "../useAction.ts";
import { SetUpServices } from "./SetUpServices.tsx";
import { isActive, mainService } from "./services.ts";
import styles from "./RunService.module.css";

export interface RunServiceProps {
  readonly taskId: string;
  readonly projectId: string;
  readonly action: Action;
  readonly size?: "sm" | "md";
}

/** What tells one address from another: the host and the port. */
const addressOf = (url: string): string => url.replace(/^https?:\/\//, "").replace(/\/$/, "");

export function RunService({ taskId, projectId, action, size = "md" }: RunServiceProps) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const services = useOp("task_services", { task_id: taskId }).data;
  if (!services) return null;
  const main = mainService(services.items);
  if (!main) {
    return (
      <Popover
        trigger={
          <Button size={size} icon={<Play />}>
            {t("services.runNone")}
          </Button>
        }
        title={t("services.none")}
      >
        <p className={layout.soft}>{t("services.noneHint")}</p>
        <SetUpServices projectId={projectId} />
      </Popover>
    );
  }
  const { name, last } = main;
  if (isActive(last) && last.state === "ready") {
    return (
      <>
        <Button
          size={size}
          icon={<ExternalLink />}
          onClick={() => void platform.openExternal(last.url)}
        >
          {t("services.open", { name })}
        </Button>
        <code className={styles.address} title={last.url} data-selectable>
          {addressOf(last.url)}
        </code>
      </>
    );
  }
  return (
    <>
      <Button
        size={size}
        icon={<Play />}
        busy={isActive(last) || action.busy === "service_start"}
        onClick={() => void action.run("service_start", { task_id: taskId, name })}
      >
        {t(isActive(last) ? "services.starting" : "services.run", { name })}
      </Button>
      {size === "md" && last?.state === "failed" && (
        <span role="status" className={layout.error}>
          {t("services.didNotRun", { name, reason: last.reason })}
        </span>
      )}
    </>
  );
}
