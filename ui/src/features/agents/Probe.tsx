import { Search } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOpMutation } from "#ui/api/client.ts";
import { Button } from "#ui/components/Button.tsx";
import { Standing } from "#ui/domain/programs/Standing.tsx";
import { configOf, isComplete, type AgentForm } from "./form.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./AgentsScreen.module.css";

/** Looks for the program as it is typed here, before anything is saved. */
export function Probe({ form }: { form: AgentForm }) {
  const { t } = useTranslation();
  const probe = useOpMutation("agent_probe");
  const config = configOf(form);
  // What was found goes with what was asked; another program is another question.
  const { adapter, config: asked } = probe.variables ?? {};
  const current = adapter === form.adapter && JSON.stringify(asked) === JSON.stringify(config);
  return (
    <div className={styles.probe}>
      <Button
        size="sm"
        icon={<Search />}
        busy={probe.isPending}
        disabled={!isComplete({ ...form, name: form.name || "-" })}
        onClick={() => probe.mutate({ adapter: form.adapter, config })}
      >
        {t("agents.probe")}
      </Button>
      <div role="status" className={layout.fillNarrow}>
        {current && probe.data && <Standing check={probe.data} />}
        {current && probe.error && <p className={layout.error}>{probe.error.message}</p>}
      </div>
    </div>
  );
}
