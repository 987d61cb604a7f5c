import { ArrowDown, ArrowUp, ChevronRight, CircleAlert, Copy, Trash2 } from "lucide-react";
import { useId, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { Badge } from "#ui/components/Badge.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { findingsIn } from "#ui/draft/findings.ts";
import { formatPath } from "#ui/draft/path.ts";
import { ServiceFields, type ServiceFieldsProps } from "./ServiceFields.tsx";
import { problemsIn } from "./form.ts";
import { settingsKey } from "./useServicesDraft.ts";
import styles from "./services.module.css";

export interface ServiceCardProps extends ServiceFieldsProps {
  readonly count: number;
  /** `.forge.json` names a service of the same name, which this one replaces. */
  readonly replaces: boolean;
  readonly isOpen: boolean;
  readonly onOpen: (wanted: boolean) => void;
  readonly onMove: (to: number) => void;
  /** None where there is no room for another one. */
  readonly onDuplicate: (() => void) | null;
  readonly onRemove: () => void;
}

/** One service: a line, and behind it its fields. Alt with an arrow moves it. */
export function ServiceCard(props: ServiceCardProps) {
  const { index, form, findings, count, replaces, isOpen, onOpen, onMove, onDuplicate } = props;
  const { t } = useTranslation();
  const id = useId();
  const found = findingsIn(findings, formatPath([settingsKey, index])).length + problemsIn(form);
  const name = form.name.trim() || t("serviceSettings.unnamed");
  const onKeyDown = (pressed: KeyboardEvent<HTMLButtonElement>) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[pressed.key];
    if (!pressed.altKey || by === undefined) return;
    pressed.preventDefault();
    const to = index + by;
    if (to < 0 || to >= count) return;
    onMove(to);
    // The focus stays with the service, which is another row now.
    const list = pressed.currentTarget.closest("ol");
    requestAnimationFrame(() => {
      list?.children[to]?.querySelector<HTMLElement>("button")?.focus();
    });
  };
  return (
    <li className={styles.card} data-open={isOpen || undefined}>
      <div className={styles.cardHead}>
        <button
          type="button"
          className={styles.cardButton}
          aria-expanded={isOpen}
          aria-controls={id}
          aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown"
          onClick={() => onOpen(!isOpen)}
          onKeyDown={onKeyDown}
        >
          <ChevronRight className={styles.chevron} aria-hidden />
          <span className={styles.name}>{name}</span>
          <code className={styles.command}>{form.command}</code>
          {form.start === "on_review" && (
            <Badge look="outline">{t("serviceSettings.onReview")}</Badge>
          )}
          {replaces && <Badge look="outline">{t("serviceSettings.replaces")}</Badge>}
          {found > 0 && (
            <Badge tone="danger" icon={<CircleAlert />}>
              {t("hooks.findings", { count: found })}
            </Badge>
          )}
        </button>
        <span className={styles.tools}>
          <IconButton
            size="sm"
            label={t("serviceSettings.up", { name })}
            keys="alt+up"
            icon={<ArrowUp />}
            disabled={index === 0}
            onClick={() => onMove(index - 1)}
          />
          <IconButton
            size="sm"
            label={t("serviceSettings.down", { name })}
            keys="alt+down"
            icon={<ArrowDown />}
            disabled={index === count - 1}
            onClick={() => onMove(index + 1)}
          />
          <IconButton
            size="sm"
            label={t("serviceSettings.duplicate", { name })}
            icon={<Copy />}
            disabled={onDuplicate === null}
            onClick={() => onDuplicate?.()}
          />
          <IconButton
            size="sm"
            label={t("serviceSettings.remove", { name })}
            icon={<Trash2 />}
            onClick={props.onRemove}
          />
        </span>
      </div>
      <div id={id} hidden={!isOpen}>
        {isOpen && <ServiceFields index={index} form={form} findings={findings} set={props.set} />}
      </div>
    </li>
  );
}
