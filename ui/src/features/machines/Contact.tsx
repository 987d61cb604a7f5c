import { CircleCheck, CircleDashed, CircleX } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Machine, MachineContact } from "#ui/api/generated.ts";
import { Said } from "#ui/components/Said.tsx";
import { contactWords } from "#ui/domain/machines/useMachines.ts";
import styles from "./MachinesScreen.module.css";

const icons: Readonly<Record<MachineContact, ReactNode>> = {
  live: <CircleCheck aria-hidden />,
  unreachable: <CircleX aria-hidden />,
  unknown: <CircleDashed aria-hidden />,
};

/** Whether the machine can be reached, since when, and what to do when it cannot. */
export function Contact({ machine }: { machine: Machine }) {
  const { t } = useTranslation();
  const { contact, contact_since: since, contact_error: fault } = machine;
  return (
    <>
      <p className={styles.line} data-contact={contact}>
        {icons[contact]}
        {since === null ? (
          contactWords(machine, t)
        ) : (
          <time dateTime={since}>{contactWords(machine, t)}</time>
        )}
      </p>
      {fault && (
        <>
          <p className={styles.fault} data-selectable>
            <Said text={fault.message} />
          </p>
          <p className={styles.remedy} data-selectable>
            <Said text={fault.remedy} />
          </p>
        </>
      )}
    </>
  );
}
