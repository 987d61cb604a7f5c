/** Starts the task's service, shows that it starts, and opens it once it is ready. */
import { ExternalLink, Play } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { Button } from "#ui/components/Button.tsx";
import layout from "#ui/components/layout.module.css";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import type { Action } from "../useAction.ts";
import { isActive, mainService } from "./services.ts";

export interface RunServiceProps {
  readonly taskId: string;
  readonly action: Action;
  readonly size?: "sm" | "md";
}

export function RunService({ taskId, action, size = "md" }: RunServiceProps) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const services = useOp("task_services", { task_id: taskId }).data;
  const main = mainService(services?.items ?? []);
  if (!main) return null;
  const { name, last } = main;
  if (isActive(last) && last.state === "ready") {
    return (
      <Button
        size={size}
        icon={<ExternalLink />}
        onClick={() => void platform.openExternal(last.url)}
      >
        {t("services.open", { name })}
      </Button>
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
