/** One row of a diff: a line, or two versions of it beside each other. */
import { Plus } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { DiffLine, DiffSide } from "#ui/api/generated.ts";
import { whole } from "../numbers.ts";
import { longLine } from "./hunks.ts";
import { marked, type Colours, type Mark, type Tokens } from "./tokens.ts";
import styles from "./Line.module.css";

const noMarks: readonly Mark[] = [];

interface TextProps {
  readonly line: DiffLine;
  readonly tokens: Tokens | undefined;
  readonly marks: readonly Mark[];
}

/** The words of a line; colours are only taken where they are of this very text. */
function Text({ line, tokens, marks }: TextProps) {
  const { t } = useTranslation();
  const shown = line.text.slice(0, longLine);
  const more = line.text.length - shown.length;
  const coloured = tokens && tokens.map(({ text }) => text).join("") === shown ? tokens : null;
  const pieces = marked(coloured ?? [{ text: shown }], marks);
  return (
    <span className={styles.text} data-line>
      {pieces.map(({ text, style, changed, mark }, at) => {
        const key = `${at}`;
        const word = (
          <span
            key={key}
            style={style}
            data-changed={changed || undefined}
            data-coloured={style ? true : undefined}
          >
            {text}
          </span>
        );
        if (mark === "none") return style || changed ? word : text;
        return (
          <mark key={key} className={styles.mark} data-current={mark === "current" || undefined}>
            {word}
          </mark>
        );
      })}
      {more > 0 && <i>{t("diff.moreCharacters", { count: more, shown: whole(more) })}</i>}
      {line.no_newline && <i>{t("diff.noNewline")}</i>}
    </span>
  );
}

function Add({ line }: { line: number }) {
  const { t } = useTranslation();
  return (
    // By keyboard: `c` on the line.
    <button
      type="button"
      className={styles.add}
      tabIndex={-1}
      data-add
      aria-label={t("comments.add", { line: whole(line) })}
    >
      <Plus aria-hidden />
    </button>
  );
}

const signs = { context: " ", added: "+", removed: "-" } as const;

export interface LineProps {
  readonly line: DiffLine;
  /** Among the rows of its file. */
  readonly row: number;
  readonly colours: Colours | undefined;
  readonly marks?: readonly Mark[] | undefined;
  readonly selected: boolean;
  readonly canComment: boolean;
}

const tokensOf = ({ new_no: newNo, old_no: oldNo }: DiffLine, colours: Colours | undefined) =>
  newNo === null ? colours?.old.get(oldNo ?? 0) : colours?.new.get(newNo);

export function Line({ line, row, colours, marks, selected, canComment }: LineProps) {
  const { kind, old_no: oldNo, new_no: newNo } = line;
  return (
    <div
      className={styles.line}
      data-kind={kind}
      data-row={row}
      data-selected={selected || undefined}
    >
      <span className={styles.number} data-number="old">
        {oldNo}
      </span>
      <span className={styles.number} data-number="new">
        {newNo}
      </span>
      {canComment && <Add line={newNo ?? oldNo ?? 0} />}
      <span className={styles.sign}>{signs[kind]}</span>
      <Text line={line} tokens={tokensOf(line, colours)} marks={marks ?? noMarks} />
    </div>
  );
}

interface HalfProps {
  readonly side: DiffSide;
  readonly of: LineProps | null;
}

function Half({ side, of }: HalfProps) {
  if (!of) return <div className={styles.half} data-kind="none" />;
  const { line, row, colours, marks, selected, canComment } = of;
  const number = (side === "old" ? line.old_no : line.new_no) ?? 0;
  const tokens = side === "old" ? colours?.old.get(number) : colours?.new.get(number);
  return (
    <div
      className={styles.half}
      data-kind={line.kind}
      data-row={row}
      data-side={side}
      data-selected={selected || undefined}
    >
      <span className={styles.number} data-number={side}>
        {number}
      </span>
      {canComment && <Add line={number} />}
      <span className={styles.sign}>{signs[line.kind]}</span>
      <Text line={line} tokens={tokens} marks={marks ?? noMarks} />
    </div>
  );
}

export interface PairProps {
  readonly old: LineProps | null;
  readonly new: LineProps | null;
}

/** Both versions of a line beside each other; their text wraps. */
export function Pair({ old, new: added }: PairProps) {
  return (
    <div className={styles.pair}>
      <Half side="old" of={old} />
      <Half side="new" of={added} />
    </div>
  );
}
