import { ChevronDown, CircleAlert, Info } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { sentence } from "#ui/draft/findings.ts";
import { lineColumnAt } from "#ui/draft/json.ts";
import { parsePath, placeOf } from "#ui/draft/path.ts";
import { titleOf } from "./definition.ts";
import type { WorkflowDraft } from "./useWorkflowDraft.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./workflow.module.css";

/** All that was found, each entry leading to its place. */
export function FindingList({
  state,
  label,
  onSelect,
  onSyntax,
}: {
  state: WorkflowDraft;
  label: string;
  onSelect: (path: string) => void;
  onSyntax: () => void;
}) {
  const { t } = useTranslation();
  const [folded, setFolded] = useState(false);
  const { parsed, findings, notes, workflow, draft } = state;
  /** The state in its own words, and the line. */
  const whereOf = (path: string): string => {
    const steps = parsePath(path);
    const [root, index, ...rest] = steps;
    const named =
      root === "states" && typeof index === "number" ? workflow?.states[index] : undefined;
    if (!named) return path;
    return [titleOf(named), rest.join(" › ")].filter(Boolean).join(" › ");
  };
  const lineOf = (path: string) =>
    parsed.ok ? lineColumnAt(draft.text, placeOf(parsed.root, parsePath(path)).from).line : 1;
  const count = findings.length + (parsed.ok ? 0 : 1);
  if (count === 0 && notes.length === 0) return null;
  return (
    <section className={styles.problems} aria-label={label}>
      {count > 0 && (
        <button
          type="button"
          className={styles.problemsHead}
          aria-expanded={!folded}
          onClick={() => setFolded(!folded)}
        >
          <ChevronDown aria-hidden />
          {t("workflow.findings", { count })}
        </button>
      )}
      {!folded && (
        <ul className={styles.problemList}>
          {!parsed.ok && (
            <li>
              <button type="button" className={styles.problem} onClick={onSyntax}>
                <CircleAlert aria-hidden />
                <span>
                  {t("draft.syntax", {
                    what: t(`draft.expected.${parsed.error.expected}`),
                    line: parsed.error.line,
                    column: parsed.error.column,
                  })}
                </span>
              </button>
            </li>
          )}
          {findings.map(({ path, message }) => (
            <li key={path + message}>
              <button type="button" className={styles.problem} onClick={() => onSelect(path)}>
                <CircleAlert aria-hidden />
                <span>{sentence(message)}</span>
                <span className={layout.note}>
                  {t("workflow.where", { place: whereOf(path), line: lineOf(path) })}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {notes.map((note) => (
        <p key={note} className={styles.note}>
          <Info aria-hidden />
          {sentence(note)}
        </p>
      ))}
    </section>
  );
}
