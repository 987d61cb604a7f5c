import { ListFilter, Search, SlidersHorizontal, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { setQuery } from "#ui/app/router.ts";
import type { WorkflowView } from "#ui/api/generated.ts";
import { thisComputer, type Machines } from "#ui/domain/machines/machines.ts";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Menu, type MenuEntry } from "#ui/components/Menu.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import type { AgentNames } from "./BoardCard.tsx";
import { toggled, type BoardFilter } from "./filter.ts";
import type { Grouping } from "./groups.ts";
import styles from "./BoardBar.module.css";

export const searchId = "board-search";
const typingPause = 200;

function SearchField({ text }: { text: string }) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState(text);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (next: string) => {
    setTyped(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setQuery({ q: next.trim() || null }), typingPause);
  };
  return (
    <div className={styles.search}>
      <TextField
        id={searchId}
        label={t("board.filterText")}
        hideLabel
        placeholder={t("board.filterText")}
        icon={<Search />}
        value={typed}
        onChange={change}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || typed === "") return;
          event.preventDefault();
          change("");
        }}
      />
    </div>
  );
}

export interface BoardBarProps {
  readonly view: WorkflowView;
  readonly filter: BoardFilter;
  readonly agents: AgentNames;
  readonly machines: Machines;
}

const groupings: readonly Grouping[] = ["none", "priority", "agent"];

/** Where worktrees can be: nothing to choose while there are no machines, unless the address names one. */
function useMachineEntries(machines: Machines, chosen: readonly string[]): MenuEntry[] {
  const { t } = useTranslation();
  if (machines.size === 0 && chosen.length === 0) return [];
  const places: readonly (readonly [string, string])[] = [
    [thisComputer, t("runsOn.here")],
    ...[...machines.values()].map(({ id, name }) => [id, name] as const),
  ];
  return [
    { kind: "separator", id: "above-machines" },
    { kind: "label", id: "machines", label: t("board.filterMachine") },
    ...places.map(([id, label]): MenuEntry => ({
      kind: "check",
      id: `machine.${id}`,
      label,
      checked: chosen.includes(id),
      onChange: () => setQuery({ machine: toggled(chosen, id) }),
    })),
  ];
}

export function BoardBar({ view, filter, agents, machines }: BoardBarProps) {
  const { t } = useTranslation();
  const chosen = filter.agents.length + filter.states.length + filter.machines.length;
  const whereabouts = useMachineEntries(machines, filter.machines);
  const who: readonly (readonly [string, string])[] = [...agents, ["user", t("board.you")]];
  const filters: MenuEntry[] = [
    { kind: "label", id: "agents", label: t("board.filterAgent") },
    ...who.map(([id, label]): MenuEntry => ({
      kind: "check",
      id: `agent.${id}`,
      label,
      checked: filter.agents.includes(id),
      onChange: () => setQuery({ agent: toggled(filter.agents, id) }),
    })),
    { kind: "separator", id: "between" },
    { kind: "label", id: "states", label: t("board.filterState") },
    ...view.workflow.states.map(({ name, display_name }): MenuEntry => ({
      kind: "check",
      id: `state.${name}`,
      label: display_name,
      checked: filter.states.includes(name),
      onChange: () => setQuery({ state: toggled(filter.states, name) }),
    })),
    ...whereabouts,
  ];
  const display: MenuEntry[] = [
    { kind: "label", id: "group", label: t("board.groupBy") },
    ...groupings.map((by): MenuEntry => ({
      kind: "check",
      id: `group.${by}`,
      label: t(`board.group.${by}`),
      checked: filter.group === by,
      onChange: () => setQuery({ group: by === "none" ? null : by }),
    })),
    { kind: "separator", id: "between" },
    {
      kind: "check",
      id: "hidden",
      label: t("board.showHidden"),
      checked: filter.hidden,
      onChange: (hidden) => setQuery({ hidden: hidden ? "1" : null }),
    },
  ];
  return (
    <>
      <SearchField text={filter.text} />
      <Menu
        entries={filters}
        trigger={
          <Button size="sm" variant={chosen > 0 ? "secondary" : "ghost"} icon={<ListFilter />}>
            {chosen > 0 ? t("board.filterSome", { count: chosen }) : t("board.filter")}
          </Button>
        }
      />
      <Menu
        entries={display}
        trigger={
          <Button size="sm" variant="ghost" icon={<SlidersHorizontal />}>
            {t("board.display")}
          </Button>
        }
      />
      {filter.narrowed && (
        <IconButton
          size="sm"
          label={t("board.clearFilter")}
          icon={<X />}
          onClick={() => setQuery({ q: null, agent: null, state: null, machine: null })}
        />
      )}
    </>
  );
}
