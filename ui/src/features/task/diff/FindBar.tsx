/** Finds a text in all changes: the box, how often it is there, and the steps between. */
import { ArrowDown, ArrowUp, Search, X } from "lucide-react";
import { useEffect, useRef, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "#ui/components/IconButton.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { whole } from "../numbers.ts";
import type { Find } from "./useFind.ts";
import styles from "./FindBar.module.css";

export interface FindBarProps {
  readonly find: Find;
  readonly onClose: () => void;
}

export function FindBar({ find, onClose }: FindBarProps) {
  const { t } = useTranslation();
  const bar = useRef<HTMLDivElement>(null);
  const { query, matches, current, coverage, step } = find;
  useEffect(() => {
    const box = bar.current?.querySelector("input");
    box?.focus();
    box?.select();
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter" && event.target instanceof HTMLInputElement) {
      step(event.shiftKey ? -1 : 1);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const count = matches.length;
  const said =
    query === ""
      ? ""
      : current === null
        ? t("diff.find.count", { count, shown: whole(count) })
        : t("diff.find.place", { place: whole(current + 1), count: whole(count) });
  const isReading = query !== "" && coverage.searched < coverage.total;
  return (
    // The box and the buttons in it take the keys; here they are only told apart.
    <div ref={bar} className={styles.bar} role="search" aria-label={t("diff.find.label")}>
      <div className={styles.box} role="presentation" onKeyDown={onKeyDown}>
        <TextField
          hideLabel
          label={t("diff.find.label")}
          placeholder={t("diff.find.label")}
          icon={<Search />}
          value={query}
          onChange={find.onQuery}
        />
        <IconButton
          label={t("diff.find.previous")}
          icon={<ArrowUp />}
          size="sm"
          keys="shift+enter"
          disabled={count === 0}
          onClick={() => step(-1)}
        />
        <IconButton
          label={t("diff.find.next")}
          icon={<ArrowDown />}
          size="sm"
          keys="enter"
          disabled={count === 0}
          onClick={() => step(1)}
        />
        <IconButton
          label={t("action.close")}
          icon={<X />}
          size="sm"
          keys="escape"
          onClick={onClose}
        />
      </div>
      <p className={styles.said} role="status">
        {said}
        {/* Not spoken for each file that is read. */}
        {isReading && (
          <span className={styles.note} aria-hidden>
            {t("diff.find.reading", {
              searched: whole(coverage.searched),
              total: whole(coverage.total),
            })}
          </span>
        )}
        {query !== "" && coverage.skipped > 0 && (
          <span className={styles.note}>{t("diff.find.skipped", { count: coverage.skipped })}</span>
        )}
      </p>
    </div>
  );
}
