/** Issues of the project's code host, to be searched and picked. */
import { Inbox, MessageSquare, Search as SearchIcon } from "lucide-react";
import { useEffect, useRef, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import type { ApiError } from "#ui/api/error.ts";
import type { IssueFilter, ListedIssue } from "#ui/api/generated.ts";
import { navigate } from "#ui/app/router.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Row } from "#ui/components/Row.tsx";
import { Select } from "#ui/components/Select.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import layout from "#ui/components/layout.module.css";
import { isSame } from "./search.ts";
import type { ImportFormState } from "./useImportForm.ts";
import styles from "./issues.module.css";

const filters: readonly IssueFilter[] = ["open", "closed", "all"];

function SearchForm({ form }: { form: ImportFormState }) {
  const { t } = useTranslation();
  const { search, typed, setTyped, searchFor } = form;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    searchFor(typed);
  };
  return (
    <form className={styles.search} role="search" onSubmit={submit}>
      <TextField
        label={t("issues.text")}
        icon={<SearchIcon />}
        // Arrow keys go from tab to tab and must not be taken into one.
        autoFocus={!form.hasTurned}
        value={typed.text}
        onChange={(text) => setTyped({ ...typed, text })}
      />
      <TextField
        label={t("issues.labels")}
        placeholder={t("issues.labelsExample")}
        value={typed.labels}
        onChange={(labels) => setTyped({ ...typed, labels })}
      />
      <Select<IssueFilter>
        label={t("issues.state")}
        value={typed.state}
        options={filters.map((value) => ({ value, label: t(`issues.filter.${value}`) }))}
        // A choice is meant, where a word is still being typed.
        onChange={(state) => searchFor({ ...typed, state })}
      />
      <Button type="submit" variant={isSame(search, typed) ? "secondary" : "primary"}>
        {t("issues.search")}
      </Button>
    </form>
  );
}

function NotListed({
  projectId,
  error,
  onRetry,
  onLeave,
}: {
  projectId: string;
  error: ApiError;
  onRetry: () => void;
  onLeave: () => void;
}) {
  const { t } = useTranslation();
  const isMissing = error.code === "no_code_host";
  if (!isMissing && error.code !== "host_unavailable") {
    return <ErrorState title={t("issues.notListed")} error={error} onRetry={onRetry} />;
  }
  const toSettings = () => {
    onLeave();
    navigate("projectSettings", { project: projectId }, { tab: "pullRequests" });
  };
  return (
    <Banner
      tone="warning"
      title={t(isMissing ? "issues.noHost" : "issues.notListed")}
      actions={
        <>
          <Button size="sm" onClick={toSettings}>
            {t("issues.openSettings")}
          </Button>
          <Button size="sm" variant="ghost" onClick={onRetry}>
            {t("action.retry")}
          </Button>
        </>
      }
    >
      {error.message}
    </Banner>
  );
}

function IssueRow({
  item,
  picked,
  onPick,
}: {
  item: ListedIssue;
  picked: boolean;
  onPick: (on: boolean) => void;
}) {
  const { t } = useTranslation();
  const { issue, task_number: task } = item;
  return (
    <li className={styles.issue}>
      <Checkbox
        hideLabel
        label={t("issues.pick", { number: issue.ref, title: issue.title })}
        checked={picked}
        onChange={onPick}
      />
      {/* The checkbox has the name and the keys; the rest of its line is a larger target for the pointer. */}
      {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions */}
      <div className={styles.facts} onClick={() => onPick(!picked)}>
        <span className={styles.issueTitle}>
          <span className={styles.number}>#{issue.ref}</span>
          <bdi>{issue.title}</bdi>
        </span>
        <Row as="span" wrap gap={2}>
          {issue.state === "closed" && <Badge>{t("issues.filter.closed")}</Badge>}
          {issue.labels.map((label) => (
            <Badge key={label} look="outline">
              {label}
            </Badge>
          ))}
          {task !== null && (
            <span className={layout.note}>{t("issues.isTask", { number: task })}</span>
          )}
        </Row>
      </div>
      {issue.comment_count > 0 && (
        <span
          className={styles.comments}
          role="img"
          aria-label={t("issues.comments", { count: issue.comment_count })}
          title={t("issues.comments", { count: issue.comment_count })}
        >
          <MessageSquare aria-hidden />
          {issue.comment_count}
        </span>
      )}
    </li>
  );
}

function PickAll({
  items,
  picked,
  onPick,
}: {
  items: readonly ListedIssue[];
  picked: ReadonlySet<string>;
  onPick: (picked: ReadonlySet<string>) => void;
}) {
  const { t } = useTranslation();
  const box = useRef<HTMLDivElement>(null);
  const shown = items.map(({ issue }) => issue.ref);
  const count = shown.filter((ref) => picked.has(ref)).length;
  const all = count === shown.length;
  return (
    <div ref={box} className={styles.all}>
      <Checkbox
        label={t("issues.pickAll")}
        checked={all}
        mixed={count > 0 && !all}
        onChange={(on) =>
          onPick(
            new Set(on ? [...picked, ...shown] : [...picked].filter((ref) => !shown.includes(ref))),
          )
        }
      />
      {picked.size > 0 && (
        <>
          <span className={layout.note} role="status">
            {t("issues.picked", { count: picked.size })}
          </span>
          <Button
            size="sm"
            variant="ghost"
            onClick={() => {
              // The button goes with the selection.
              box.current?.querySelector<HTMLElement>("[role=checkbox]")?.focus();
              onPick(new Set());
            }}
          >
            {t("issues.clear")}
          </Button>
        </>
      )}
    </div>
  );
}

/** The button goes with the last page: the focus goes on at the first issue that has come. */
function useFocusOnMore(count: number, more: (() => void) | null) {
  const list = useRef<HTMLUListElement>(null);
  const shown = useRef<number | null>(null);
  useEffect(() => {
    const from = shown.current;
    if (from === null || count <= from) return;
    shown.current = null;
    list.current?.children[from]?.querySelector<HTMLElement>("[role=checkbox]")?.focus();
  }, [count]);
  const loadMore = () => {
    shown.current = count;
    more?.();
  };
  return { list, loadMore };
}

export function CodeHostTab({ form, onLeave }: { form: ImportFormState; onLeave: () => void }) {
  const { t } = useTranslation();
  const { projectId, picked, setPicked } = form;
  const { source, items, error, more, isLoadingMore, refresh } = form.list;
  const { list, loadMore } = useFocusOnMore(items?.length ?? 0, more);
  const pick = (ref: string, on: boolean) =>
    setPicked(new Set(on ? [...picked, ref] : [...picked].filter((each) => each !== ref)));
  return (
    <div className={styles.tab}>
      <SearchForm form={form} />
      <p className="visually-hidden" role="status">
        {items && t("issues.shown", { count: items.length })}
      </p>
      {items && items.length > 0 && <PickAll items={items} picked={picked} onPick={setPicked} />}
      {items === null ? (
        error ? null : (
          <div aria-busy>
            <SkeletonText lines={6} />
          </div>
        )
      ) : items.length === 0 ? (
        <EmptyState icon={<Inbox />} title={t("issues.none")}>
          {t("issues.noneText")}
        </EmptyState>
      ) : (
        <ul ref={list} className={styles.list} aria-label={t("issues.list", { source })}>
          {items.map((item) => (
            <IssueRow
              key={item.issue.ref}
              item={item}
              picked={picked.has(item.issue.ref)}
              onPick={(on) => pick(item.issue.ref, on)}
            />
          ))}
        </ul>
      )}
      {error && (
        <NotListed projectId={projectId} error={error} onRetry={refresh} onLeave={onLeave} />
      )}
      {more && !error && (
        <div>
          <Button size="sm" busy={isLoadingMore} onClick={loadMore}>
            {t("issues.more")}
          </Button>
        </div>
      )}
    </div>
  );
}
