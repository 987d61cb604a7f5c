import { CircleCheck, CircleSlash, CircleX, MessageCircleQuestion } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { ApprovalChoice } from "#ui/api/generated.ts";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { actorText } from "../actor.ts";
import { approvalOf } from "../approvals/asked.ts";
import { useRowSurroundings } from "./RowContext.ts";
import { textIn, type EntryRow } from "./log.ts";
import { numberIn, stringIn } from "./present.ts";
import styles from "./Rows.module.css";

const tones: Readonly<Record<ApprovalChoice, Tone>> = {
  allow_once: "success",
  allow_always: "success",
  answer: "neutral",
  reject_once: "danger",
  reject_always: "danger",
  stop: "danger",
};

/** What became of it, as far as the log alone tells. */
function Outcome({ row }: { row: EntryRow }) {
  const { t } = useTranslation();
  const answer = stringIn(row.body, "answer");
  if (answer) return <Badge>{answer}</Badge>;
  if (row.status === "running") {
    return (
      <Badge tone="warning" icon={<MessageCircleQuestion />}>
        {t("approvals.open")}
      </Badge>
    );
  }
  return (
    <Badge icon={<CircleSlash />}>
      {t(row.status === "declined" ? "approvals.declined" : "approvals.expired")}
    </Badge>
  );
}

/** A question of the agent in one line: what it asked, who answered what, and when. */
export function ApprovalRow({ row }: { row: EntryRow }) {
  const { t } = useTranslation();
  const { approvals, names } = useRowSurroundings();
  const title = textIn(row.body) || t("conversation.approvalAsked");
  const run = row.key.slice(0, row.key.indexOf(":"));
  const stored = approvalOf(approvals, run, row.id);
  const option = stored?.options.find(({ id }) => id === stored.answer);
  const answered = numberIn(row.body, "answered_at");
  const when = stored?.answered_at ?? (answered === null ? null : new Date(answered).toISOString());
  return (
    <p className={styles.asked}>
      <MessageCircleQuestion aria-hidden />
      <span className={styles.askedTitle} title={title}>
        <span className="visually-hidden">{t("approvals.asked")} </span>
        {title}
      </span>
      {option ? (
        <Badge
          tone={tones[option.choice]}
          icon={tones[option.choice] === "danger" ? <CircleX /> : <CircleCheck />}
        >
          {option.label || t(`approvals.choice.${option.choice}`)}
        </Badge>
      ) : (
        <Outcome row={row} />
      )}
      {stored?.note && <span className={styles.askedNote}>{stored.note}</span>}
      {when !== null && (
        <span className={styles.askedWho}>
          {stored?.answered_by && `${actorText(stored.answered_by, names, t)} · `}
          <RelativeTime at={when} />
        </span>
      )}
    </p>
  );
}
