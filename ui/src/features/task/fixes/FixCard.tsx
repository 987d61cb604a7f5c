/** One drafted fix: in full as long as it matters, as a line that unfolds when it is history. */
import {
  ChevronRight,
  CircleCheck,
  CircleSlash,
  FilePen,
  History,
  LoaderCircle,
  Undo2,
} from "lucide-react";
import { useMemo, useRef, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { FixProposal, FixStatus } from "#ui/api/generated.ts";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { DiffCount } from "#ui/components/DiffCount.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { FixBody } from "./FixBody.tsx";
import { canApply } from "./fixes.ts";
import { useDecision, type Decision } from "./useDecision.ts";
import { Truncate } from "#ui/components/Truncate.tsx";
import parts from "../TabParts.module.css";
import styles from "./Fixes.module.css";

const looks: Readonly<Record<FixStatus, { readonly tone: Tone; readonly icon: ReactNode }>> = {
  drafted: { tone: "warning", icon: <FilePen /> },
  applied: { tone: "accent", icon: <LoaderCircle /> },
  verified: { tone: "success", icon: <CircleCheck /> },
  rolled_back: { tone: "neutral", icon: <Undo2 /> },
  rejected: { tone: "neutral", icon: <CircleSlash /> },
  superseded: { tone: "neutral", icon: <History /> },
};

export interface FixProps {
  readonly fix: FixProposal;
  readonly agents: ReadonlyMap<string, string>;
}

function Stand({ fix: { status } }: { fix: FixProposal }) {
  const { t } = useTranslation();
  const { tone, icon } = looks[status];
  return (
    <Badge tone={tone} icon={icon}>
      {t(`fixes.status.${status}`)}
    </Badge>
  );
}

function Aside({ fix }: { fix: FixProposal }) {
  const { t } = useTranslation();
  return (
    <span className={styles.aside}>
      {fix.strategy !== null && (
        <Badge look="outline">{t("fixes.ofEntry", { name: fix.strategy })}</Badge>
      )}
      <DiffCount added={fix.addedLines} removed={fix.removedLines} />
      <RelativeTime at={fix.createdAt} />
    </span>
  );
}

/** The keys of the one fix that waits. */
function DecisionKeys({ file, decision }: { file: string; decision: Decision }) {
  const { t } = useTranslation();
  const { busy, apply, reject } = decision;
  const commands = useMemo<Command[]>(
    () => [
      {
        id: "fixes.apply",
        label: t("fixes.applyOf", { file }),
        group: t("task.tab.fixes"),
        keys: ["shift+a"],
        enabled: busy === null,
        run: apply,
      },
      {
        id: "fixes.reject",
        label: t("fixes.rejectOf", { file }),
        group: t("task.tab.fixes"),
        keys: ["shift+d"],
        enabled: busy === null,
        run: reject,
      },
    ],
    [t, file, busy, apply, reject],
  );
  useCommands(commands);
  return null;
}

/** `keyed` is the one that keys act on: the newest of those that wait. */
export function FixCard({ fix, agents, keyed }: FixProps & { keyed: boolean }) {
  const { t } = useTranslation();
  const card = useRef<HTMLElement>(null);
  const decision = useDecision(fix, card);
  const file = fix.files.join(", ");
  const title = t("fixes.title", { file });
  return (
    <section
      ref={card}
      className={styles.fix}
      aria-label={title}
      data-status={fix.status}
      tabIndex={-1}
    >
      {keyed && canApply(fix.status) && <DecisionKeys file={file} decision={decision} />}
      <header className={styles.head}>
        <h3>{title}</h3>
        <Stand fix={fix} />
        <Aside fix={fix} />
      </header>
      <FixBody fix={fix} agents={agents} decision={decision} />
    </section>
  );
}

export function FixLine({ fix, agents }: FixProps) {
  const { t } = useTranslation();
  const card = useRef<HTMLDivElement>(null);
  const decision = useDecision(fix, card);
  const [open, setOpen] = useState(false);
  const file = fix.files.join(", ");
  const folder = file.slice(0, file.lastIndexOf("/") + 1);
  return (
    // Not a landmark as the card is: there may be many for one file.
    <div
      ref={card}
      role="group"
      aria-label={t("fixes.title", { file })}
      data-status={fix.status}
      tabIndex={-1}
    >
      <button
        type="button"
        className={parts.opener}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <ChevronRight className={parts.chevron} aria-hidden />
        <span className={styles.path}>
          <span className={styles.folder}>{folder}</span>
          <Truncate>{file.slice(folder.length)}</Truncate>
        </span>
        <Stand fix={fix} />
        <Aside fix={fix} />
      </button>
      {open && (
        <div className={styles.inside}>
          <FixBody fix={fix} agents={agents} decision={decision} />
        </div>
      )}
    </div>
  );
}
