/** A program that Forge knows how to drive: whether it is here, and the way to make an agent of it. */
import { Plus } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOpMutation } from "#ui/api/client.ts";
import type { Agent, KnownAgent } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import layout from "#ui/components/layout.module.css";
import { profileFor } from "./profile.ts";
import { Standing } from "./Standing.tsx";
import styles from "./Programs.module.css";

export function KnownProgram({ known, agents }: { known: KnownAgent; agents: readonly Agent[] }) {
  const { t } = useTranslation();
  const create = useOpMutation("agent_create", {
    onSuccess: ({ name }) => showToast({ tone: "success", title: t("agents.added", { name }) }),
    onError: (error) =>
      showToast({ tone: "danger", title: t("agents.notSaved"), detail: error.message }),
  });
  const { name, check, profiles } = known;
  return (
    <li className={styles.known}>
      <Stack gap={0} fill>
        <h3>{name}</h3>
        <Standing check={check} optional />
      </Stack>
      {check.found && profiles.length > 0 && (
        <span className={layout.note}>{t("agents.isAdded")}</span>
      )}
      {check.found && profiles.length === 0 && (
        <Button
          size="sm"
          icon={<Plus />}
          aria-label={t("agents.addKnown", { name })}
          busy={create.isPending}
          onClick={() =>
            create.mutate(
              profileFor(
                known,
                agents.map((agent) => agent.name),
              ),
            )
          }
        >
          {t("agents.add")}
        </Button>
      )}
    </li>
  );
}
