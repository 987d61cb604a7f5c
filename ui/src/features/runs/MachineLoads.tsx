import { useTranslation } from "react-i18next";
import { setQuery } from "#ui/app/router.ts";
import type { Machine } from "#ui/api/generated.ts";
import { DrainingBadge, loadWords } from "#ui/domain/machines/Load.tsx";
import { MachineBadge } from "#ui/domain/machines/MachineBadge.tsx";
import { thisComputer } from "#ui/domain/machines/machines.ts";
import styles from "./MachineLoads.module.css";

/** All machines with their load; one that is pressed narrows the list to its runs, pressed again shows all. */
export function MachineLoads({
  machines,
  here,
  chosen,
}: {
  machines: readonly Machine[];
  /** Runs on this computer. */
  here: number;
  chosen: string | null;
}) {
  const { t } = useTranslation();
  const press = (id: string) => ({
    type: "button" as const,
    className: styles.machine,
    "aria-pressed": chosen === id,
    onClick: () => setQuery({ machine: chosen === id ? null : id }),
  });
  return (
    <ul className={styles.machines} aria-label={t("runs.machines")}>
      <li>
        <button {...press(thisComputer)}>
          <span className={styles.name}>{t("runsOn.here")}</span>{" "}
          <span className={styles.load}>{t("machines.runsNow", { count: here })}</span>
        </button>
      </li>
      {machines.map((machine) => (
        <li key={machine.id}>
          <button {...press(machine.id)}>
            <span className={styles.name}>
              <MachineBadge machine={machine} />
            </span>{" "}
            {machine.contact === "unreachable" && (
              <span className={styles.cutOff} aria-hidden>
                {t("machines.contact.unreachable")}
              </span>
            )}
            <span className={styles.load}>{loadWords(machine, t)}</span>
            {machine.draining && (
              <>
                {" "}
                <DrainingBadge />
              </>
            )}
          </button>
        </li>
      ))}
    </ul>
  );
}
