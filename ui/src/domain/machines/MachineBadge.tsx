import { useTranslation } from "react-i18next";
import type { Machine, MachineContact } from "#ui/api/generated.ts";
import { contactWords } from "./useMachines.ts";
import styles from "./MachineBadge.module.css";

/** A shape for each contact, so that colour is not all that tells them apart: filled, hollow, crossed. */
export function ContactDot({ contact }: { contact: MachineContact }) {
  return (
    <svg className={styles.dot} viewBox="0 0 8 8" data-contact={contact} aria-hidden>
      {contact === "unreachable" ? <path d="M1 1 7 7M7 1 1 7" /> : <circle cx="4" cy="4" r="3" />}
    </svg>
  );
}

/** A machine's name with its contact. */
export function MachineBadge({ machine }: { machine: Machine }) {
  const { t } = useTranslation();
  const said = contactWords(machine, t);
  return (
    <span className={styles.badge} title={`${machine.name}: ${said}`}>
      <ContactDot contact={machine.contact} />
      <span className={styles.name}>{machine.name}</span>
      <span className="visually-hidden">, {said}</span>
    </span>
  );
}
