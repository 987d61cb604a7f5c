import type { TFunction } from "i18next";
import { ChevronsRightLeft, LifeBuoy, Lock, Plus } from "lucide-react";
import { memo, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Column as ColumnFacts, Task, WorkflowView } from "#ui/api/generated.ts";
import { machineOf, type Machines } from "#ui/domain/machines/machines.ts";
import { isHeldByPerson, recoverable } from "#ui/domain/recovery.ts";
import { kindOfState } from "#ui/domain/stateKinds.ts";
import { statesOf } from "#ui/domain/useStates.ts";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Skeleton } from "#ui/components/Skeleton.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { useRows } from "#ui/components/rows.ts";
import { VirtualList, type VirtualListHandle } from "#ui/components/VirtualList.tsx";
import { showOverlay } from "#ui/store/overlays.ts";
import { setPreference, usePreference } from "#ui/store/preferences.ts";
import { BoardCard, type AgentNames } from "./BoardCard.tsx";
import { groupRows, type Row } from "./groups.ts";
import { useBoard, useBoardModel } from "./model.ts";
import { withPending } from "./order.ts";
import { refusal } from "./rules.ts";
import { cardHeight, cardSizes } from "./sizes.ts";
import type { BoardFilter } from "./filter.ts";
import { useColumnTasks } from "./useColumnTasks.ts";
import { useUndoToasts } from "./useUndoToasts.tsx";
import styles from "./Column.module.css";

export interface ColumnProps {
  readonly column: ColumnFacts;
  readonly view: WorkflowView;
  readonly filter: BoardFilter;
  readonly agents: AgentNames;
  readonly machines: Machines;
  /** The number of the task that is open beside the board. */
  readonly open: string | null;
}

function useClosed(view: WorkflowView, column: ColumnFacts): string | null {
  const { t } = useTranslation();
  // A text, so that a column is drawn anew only when its answer changes.
  return useBoard(({ drag }) => {
    const refused = drag && refusal(view, drag.tasks, column);
    return refused ? t("board.closed", refused) : null;
  });
}

/**
 * A column with nothing in it can give its width to the others until it is wanted: by a press, or as
 * the place a card is taken to. A backlog does so by itself.
 */
function useFolded(column: ColumnFacts, view: WorkflowView, empty: boolean, isTarget: boolean) {
  const { projectId } = useBoardModel();
  const byHand = usePreference("foldedColumns");
  const key = `${projectId}/${column.name}`;
  const fold = (folded: boolean) => () =>
    setPreference("foldedColumns", { ...byHand, [key]: folded });
  // What has opened under a dragged card stays open until the card is let go: the columns beside it
  // must not jump back under the pointer.
  const [met, setMet] = useState(false);
  const dragging = useBoard(({ drag }) => drag !== null);
  if (isTarget && !met) setMet(true);
  if (!dragging && met) setMet(false);
  const mayFold = empty && column.count === 0;
  const isBacklog = statesOf(view).get(column.drop_state)?.kind === "backlog";
  const folded = mayFold && (byHand[key] ?? isBacklog);
  return {
    folded: folded && !met && !isTarget,
    fold: mayFold && !folded ? fold(true) : undefined,
    unfold: fold(false),
  };
}

function Strip({
  column,
  view,
  onOpen,
}: Pick<ColumnProps, "column" | "view"> & { onOpen: () => void }) {
  const { t } = useTranslation();
  return (
    <button
      type="button"
      className={styles.strip}
      aria-expanded={false}
      aria-label={t("board.unfold", { name: column.name })}
      onClick={onOpen}
    >
      <StateGlyph kind={kindOfState(statesOf(view).get(column.drop_state))} label="" />
      <span className={styles.stripName}>{column.name}</span>
    </button>
  );
}

function Header({
  column,
  view,
  shown,
  items,
  onFold,
}: Pick<ColumnProps, "column" | "view"> & {
  shown: string;
  items: readonly Task[];
  onFold: (() => void) | undefined;
}) {
  const { t } = useTranslation();
  const state = statesOf(view).get(column.drop_state);
  return (
    <header className={styles.header}>
      <StateGlyph kind={state?.cancels ? "cancelled" : kindOfState(state)} label="" />
      <h2 className={styles.name}>{column.name}</h2>
      <span className={styles.count}>{shown}</span>
      {onFold && (
        <IconButton
          size="sm"
          label={t("board.fold", { name: column.name })}
          icon={<ChevronsRightLeft />}
          onClick={onFold}
        />
      )}
      <UnblockButton items={items} />
      {state?.kind === "initial" && (
        <IconButton
          size="sm"
          label={t("newTask.command")}
          keys="c"
          icon={<Plus />}
          onClick={() => showOverlay("newTask")}
        />
      )}
    </header>
  );
}

/** Chooses the column's cards that are blocked by no person, and asks what is to be done to them. */
function UnblockButton({ items }: { items: readonly Task[] }) {
  const { t } = useTranslation();
  const model = useBoardModel();
  const blocked = recoverable(items).filter((task) => !isHeldByPerson(task));
  const [first] = blocked;
  if (!first || blocked.length < 2) return null;
  const label = t("board.recover.all", { count: blocked.length });
  return (
    <IconButton
      size="sm"
      label={label}
      icon={<LifeBuoy />}
      onClick={() => {
        const selected = new Set(blocked.map(({ id }) => id));
        model.state.setState({ selected, anchor: first.id, focused: first.id, picking: "unblock" });
      }}
    />
  );
}

function Loading() {
  const rows = useRows();
  return (
    <div className={styles.loading} aria-busy>
      {[0, 1, 2].map((each) => (
        <Skeleton key={each} height={cardHeight(rows)} />
      ))}
    </div>
  );
}

/** Publishes to the board what this column shows. */
function usePublished(column: ColumnFacts, items: readonly Task[], ordered: boolean) {
  const model = useBoardModel();
  const element = useRef<HTMLElement>(null);
  const list = useRef<VirtualListHandle>(null);
  useEffect(() => {
    model.publish({
      column,
      items,
      ordered,
      get list() {
        return list.current;
      },
      get element() {
        return element.current;
      },
    });
  }, [model, column, items, ordered]);
  useEffect(() => () => model.withdraw(column.name), [model, column.name]);
  return { element, list };
}

const keyOf = (row: Row) => (row.kind === "card" ? row.task.id : `group:${row.id}`);

export const Column = memo(function Column({
  column,
  view,
  filter,
  agents,
  machines,
  open,
}: ColumnProps) {
  const { t } = useTranslation();
  const { tasks, error, retry, loading, more } = useColumnTasks(column, filter);
  const pending = useBoard((state) => state.pending);
  const items = withPending(column.name, tasks, pending);
  const ordered = filter.group === "none";
  const rows = groupRows(items, filter.group, view.work_role);
  const { element, list } = usePublished(column, items, ordered);
  // The card of the open task stays in sight, also where the panel takes its room.
  const opened = items.find(({ number }) => open === String(number))?.id;
  const model = useBoardModel();
  useEffect(() => {
    if (opened !== undefined) model.reveal(opened);
  }, [model, opened]);
  useUndoToasts(items);

  const closed = useClosed(view, column);
  const slot = useBoard(({ drag }) =>
    drag?.target?.column === column.name ? drag.target.slot : null,
  );
  const lead = useBoard(({ drag }) => drag?.tasks[0]?.id ?? null);
  const kept = lead === null ? -1 : rows.findIndex((row) => keyOf(row) === lead);
  const shown = filter.narrowed ? `${items.length}${more ? "+" : ""}` : String(column.count);
  const line = ordered ? slot : null;
  const { folded, fold, unfold } = useFolded(column, view, rows.length === 0, slot !== null);

  return (
    <section
      ref={element}
      className={styles.column}
      aria-label={t("board.column", { name: column.name, count: column.count })}
      data-closed={closed !== null || undefined}
      data-folded={folded || undefined}
      data-target={slot !== null || undefined}
    >
      {folded ? (
        <Strip column={column} view={view} onOpen={unfold} />
      ) : (
        <Header column={column} view={view} shown={shown} items={items} onFold={fold} />
      )}
      {folded ? null : error && rows.length === 0 ? (
        <ErrorState title={t("board.columnFailed")} error={error} onRetry={retry} />
      ) : loading ? (
        <Loading />
      ) : (
        <VirtualList
          items={rows}
          keyOf={keyOf}
          rowHeight={cardSizes.row}
          roomier={cardSizes.room}
          gap={cardSizes.gap}
          padding={cardSizes.padding}
          measured={!ordered}
          overscan={4}
          label={column.name}
          keepMounted={kept}
          handle={list}
          {...(more ? { onEndReached: more } : {})}
        >
          {(row, index) =>
            row.kind === "group" ? (
              <h3 className={styles.group}>
                {row.id === "" ? t("board.group.nobody") : groupName(row, agents, t)}
                <span className={styles.count}>{row.count}</span>
              </h3>
            ) : (
              <div
                className={styles.slot}
                data-line={
                  line === index
                    ? "above"
                    : line === index + 1 && line === rows.length
                      ? "below"
                      : undefined
                }
              >
                <BoardCard
                  task={row.task}
                  state={statesOf(view).get(row.task.status)}
                  agents={agents}
                  machine={machines.get(machineOf(row.task.workspace) ?? "")}
                  workRole={view.work_role}
                  showState={
                    column.states.length > 1 &&
                    statesOf(view).get(row.task.status)?.display_name !== column.name
                  }
                  open={open === String(row.task.number)}
                />
              </div>
            )
          }
        </VirtualList>
      )}
      {rows.length === 0 && slot !== null && <div className={styles.first} />}
      {closed !== null && !folded && (
        <div className={styles.closed}>
          <Lock aria-hidden />
          {closed}
        </div>
      )}
    </section>
  );
});

function groupName(row: Extract<Row, { kind: "group" }>, agents: AgentNames, t: TFunction): string {
  if (row.by === "priority") return t(`board.priority.${row.level}`);
  return row.id === "user" ? t("board.you") : (agents.get(row.id) ?? row.id);
}
