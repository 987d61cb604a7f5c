import { CirclePause, CirclePlay } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import type { Machine } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { Tooltip } from "#ui/components/Tooltip.tsx";

/** Has nothing new start on a machine, or takes it back into use. */
export function DrainButton({ machine }: { machine: Machine }) {
  const { t } = useTranslation();
  const { id, name, draining } = machine;
  const update = useOpMutation("machine_update", {
    onSuccess: (_, { draining: drained }) =>
      showToast({
        tone: "success",
        title: t(drained ? "machines.drained" : "machines.undrained", { name }),
        ...(drained ? { detail: t("machines.drainHint") } : {}),
      }),
    onError: (error, { draining: drained }) =>
      showToast({
        tone: "danger",
        title: t(drained ? "machines.notDrained" : "machines.notUndrained", { name }),
        detail: errorText(error),
      }),
  });
  const button = (
    <Button
      size="sm"
      variant="ghost"
      icon={draining ? <CirclePlay /> : <CirclePause />}
      aria-label={t(draining ? "machines.undrainOf" : "machines.drainOf", { name })}
      busy={update.isPending}
      onClick={() => update.mutate({ machine_id: id, draining: !draining })}
    >
      {t(draining ? "machines.undrain" : "machines.drain")}
    </Button>
  );
  return draining ? button : <Tooltip text={t("machines.drainHint")}>{button}</Tooltip>;
}
