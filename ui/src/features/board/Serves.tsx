import { RadioTower } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import styles from "./Card.module.css";

/** Marks a task whose work can be tried: a service of it runs. */
export function Serves({ taskId }: { taskId: string }) {
  const { t } = useTranslation();
  const services = useOp("service_list", {}).data?.items;
  const own = services?.filter(({ task_id }) => task_id === taskId) ?? [];
  if (own.length === 0) return null;
  const said = t("board.serves", { names: own.map(({ name }) => name).join(", ") });
  return (
    <span className={styles.serves} role="img" aria-label={said} title={said}>
      <RadioTower aria-hidden />
    </span>
  );
}
