import "@xyflow/react/dist/base.css";
import {
  BaseEdge,
  Controls,
  EdgeLabelRenderer,
  Handle,
  MarkerType,
  Panel,
  Position,
  ReactFlow,
  type Connection,
  type Edge,
  type EdgeChange,
  type EdgeProps,
  type Node,
  type NodeChange,
  type NodeProps,
  type ReactFlowInstance,
} from "@xyflow/react";
import { CircleAlert, Plus, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { kindOfState } from "#ui/domain/stateKinds.ts";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { StateGlyph, type StateKind } from "#ui/components/StateGlyph.tsx";
import { findingsIn, saidAt } from "#ui/draft/findings.ts";
import { clearAt, formatPath } from "#ui/draft/path.ts";
import { AddStateDialog } from "./AddStateDialog.tsx";
import { ConnectDialog, type NewMove } from "./ConnectDialog.tsx";
import { useEditor } from "./EditorContext.tsx";
import { statePath, text, titleOf } from "./definition.ts";
import { layoutOf, nodeHeight, nodeWidth, pathOf, type PlacedMove } from "./layout.ts";
import { padding, readable, smallest, startView } from "./startView.ts";
import { findingsOfState } from "./stateFindings.ts";
import { Stack } from "#ui/components/Stack.tsx";
import styles from "./graph.module.css";

interface StateData extends Record<string, unknown> {
  readonly title: string;
  readonly glyph: StateKind;
  readonly kind: string;
  readonly role: string;
  readonly said: string | undefined;
  readonly count: number;
}
type StateNode = Node<StateData, "state">;
type BandNode = Node<{ readonly column: string }, "band">;
interface MoveData extends Record<string, unknown> {
  readonly move: PlacedMove;
  readonly said: string | undefined;
  readonly name: string;
  readonly onRemove: (() => void) | null;
}
type MoveEdge = Edge<MoveData, "move">;

function StateBox({ data, selected }: NodeProps<StateNode>) {
  const { t } = useTranslation();
  return (
    <div
      className={styles.node}
      data-selected={selected || undefined}
      data-invalid={data.count > 0 || undefined}
      title={data.said}
    >
      <Handle type="target" position={Position.Top} className={styles.handle} />
      <StateGlyph kind={data.glyph} label="" size={16} />
      <Stack as="span" fill>
        <span className={styles.title}>{data.title}</span>
        <span className={styles.facts}>
          {data.kind}
          {data.role && ` · ${data.role}`}
        </span>
      </Stack>
      {data.count > 0 && (
        <span className={styles.found}>
          <CircleAlert aria-hidden />
          {data.count}
          <span className="visually-hidden">{t("workflow.findings", { count: data.count })}</span>
        </span>
      )}
      <Handle type="source" position={Position.Bottom} className={styles.handle} />
    </div>
  );
}

function BandName({ data }: NodeProps<BandNode>) {
  return <span className={styles.band}>{data.column}</span>;
}

function MoveLine({ data, selected, markerEnd }: EdgeProps<MoveEdge>) {
  const { t } = useTranslation();
  if (!data) return null;
  const { points, label, trigger } = data.move;
  return (
    <>
      <BaseEdge
        path={pathOf(points)}
        interactionWidth={14}
        className={styles.line}
        {...(markerEnd ? { markerEnd } : {})}
      />
      <EdgeLabelRenderer>
        <span
          className={styles.label}
          data-selected={selected || undefined}
          data-invalid={data.said ? true : undefined}
          title={data.said ?? data.name}
          style={{ transform: `translate(-50%, -50%) translate(${label.x}px, ${label.y}px)` }}
        >
          {data.said && <CircleAlert aria-hidden />}
          {trigger}
          {selected && data.onRemove && (
            <IconButton
              size="sm"
              tooltip={false}
              label={t("workflow.removeTrigger", { name: trigger })}
              icon={<X />}
              onClick={data.onRemove}
            />
          )}
        </span>
      </EdgeLabelRenderer>
    </>
  );
}

type Flow = ReactFlowInstance<StateNode | BandNode, MoveEdge>;

/** Fits the graph again when its frame changes size, until the person moves it. */
function useRefit(flow: Flow | null, left: number) {
  const [zoom, setZoom] = useState(1);
  const frame = useRef<HTMLElement>(null);
  const moved = useRef(false);
  useEffect(() => {
    const element = frame.current;
    if (!flow || !element) return;
    const observer = new ResizeObserver(() => {
      if (!moved.current) void fit(flow, element, left).then(setZoom);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [flow, left]);
  // Without an event it is not the person who moves it.
  const onMoveStart = (event: MouseEvent | TouchEvent | null) => {
    if (event) moved.current = true;
  };
  return { frame, onMoveStart, zoom, setZoom };
}

const paddings = {
  top: `${padding.top}px`,
  right: `${padding.right}px`,
  bottom: `${padding.bottom}px`,
  left: `${padding.left}px`,
} as const;

/** All of it, also the lines beside the states; answers how large that is. */
async function fit(flow: Flow, frame: HTMLElement, left: number): Promise<number> {
  const bounds = flow.getNodesBounds(flow.getNodes());
  const x = Math.min(bounds.x, left);
  const box = { ...bounds, x, width: bounds.x + bounds.width - x };
  const view = startView(box, { width: frame.clientWidth, height: frame.clientHeight });
  await flow.setViewport(view);
  return view.zoom;
}

const nodeTypes = { state: StateBox, band: BandName };
const edgeTypes = { move: MoveLine };

/**
 * The definition as a picture: states in the order of the board, moves as arrows with their trigger.
 * A box opens the state's form; from the dot below a box a line is drawn to another one.
 */
export default function GraphView() {
  const { t } = useTranslation();
  const { workflow, findings, readOnly, edit, open, setOpen, goTo } = useEditor();
  const [chosen, setChosen] = useState<string | null>(null);
  const [adds, setAdds] = useState(false);
  const [connects, setConnects] = useState<NewMove | null>(null);
  const [flow, setFlow] = useState<Flow | null>(null);
  const layout = layoutOf(workflow);
  const { frame, onMoveStart, zoom, setZoom } = useRefit(flow, layout.left);

  const roleOf = (name: string) =>
    text((workflow.roles ?? []).find((role) => text(role.name) === name)?.display_name) || name;
  const states = layout.states.flatMap(({ index, x, y }): StateNode[] => {
    const state = workflow.states[index];
    if (!state) return [];
    const found = findingsOfState(findings, index);
    const kind = t(`workflow.kinds.${state.kind}`, { defaultValue: text(state.kind) });
    const role = text(state.role) && roleOf(text(state.role));
    return [
      {
        id: String(index),
        type: "state",
        position: { x, y },
        width: nodeWidth,
        height: nodeHeight,
        selected: open === index,
        ariaLabel: [
          titleOf(state),
          kind,
          role,
          found.length > 0 && t("workflow.findings", { count: found.length }),
        ]
          .filter(Boolean)
          .join(", "),
        data: {
          title: titleOf(state) || t("workflow.unnamed"),
          glyph: kindOfState(state, text(workflow.cancellation_state)),
          kind,
          role,
          said: found.length > 0 ? saidAt(found, "") : undefined,
          count: found.length,
        },
      },
    ];
  });
  const bands = layout.bands.map(({ column, y }): BandNode => ({
    id: `band ${y}`,
    type: "band",
    position: { x: layout.left - 118, y: y + nodeHeight / 2 - 9 },
    width: 84,
    height: 18,
    selectable: false,
    focusable: false,
    connectable: false,
    data: { column },
  }));
  const moves = layout.moves.map((move): MoveEdge => {
    const path = [...statePath(move.from), "triggers", move.trigger];
    const found = findingsIn(findings, formatPath(path));
    const [from, to] = [workflow.states[move.from], workflow.states[move.to]];
    const name = t("workflow.move", {
      trigger: move.trigger,
      from: from ? titleOf(from) : "",
      to: to ? titleOf(to) : "",
    });
    return {
      id: move.id,
      type: "move",
      source: String(move.from),
      target: String(move.to),
      selected: chosen === move.id,
      ariaLabel: name,
      markerEnd: {
        type: MarkerType.ArrowClosed,
        width: 15,
        height: 15,
        color: "var(--neutral-solid)",
      },
      data: {
        move,
        name,
        said: found.length > 0 ? saidAt(found, "") : undefined,
        onRemove: readOnly ? null : () => edit(clearAt(workflow, path)),
      },
    };
  });

  const onNodes = (changes: NodeChange<StateNode | BandNode>[]) => {
    for (const change of changes) {
      if (change.type !== "select" || !change.selected) continue;
      setOpen(Number(change.id));
      setChosen(null);
    }
  };
  const onEdges = (changes: EdgeChange<MoveEdge>[]) => {
    for (const change of changes) {
      if (change.type === "select") {
        setChosen((now) => (change.selected ? change.id : now === change.id ? null : now));
      } else if (change.type === "remove") {
        const move = layout.moves.find(({ id }) => id === change.id);
        if (move) edit(clearAt(workflow, [...statePath(move.from), "triggers", move.trigger]));
      }
    }
  };
  const onConnect = ({ source, target }: Connection) => {
    setConnects({ from: Number(source), to: Number(target) });
  };
  return (
    <section ref={frame} className={styles.graph} aria-label={t("workflow.graph")}>
      <ReactFlow<StateNode | BandNode, MoveEdge>
        nodes={[...bands, ...states]}
        edges={moves}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        onNodesChange={onNodes}
        onEdgesChange={onEdges}
        onNodeDoubleClick={(_, node) => goTo(`states[${node.id}].display_name`)}
        onPaneClick={() => setChosen(null)}
        onConnect={onConnect}
        nodesDraggable={false}
        nodesConnectable={!readOnly}
        deleteKeyCode={readOnly ? null : ["Delete", "Backspace"]}
        onBeforeDelete={async ({ edges }) => ({ nodes: [], edges })}
        connectionRadius={36}
        onInit={setFlow}
        onMoveStart={onMoveStart}
        onMoveEnd={(_, view) => setZoom(view.zoom)}
        minZoom={smallest}
        maxZoom={1.6}
        panOnScroll
        zoomOnDoubleClick={false}
        proOptions={{ hideAttribution: true }}
      >
        <Controls showInteractive={false} fitViewOptions={{ padding: paddings, maxZoom: 1 }} />
        {zoom < readable && (
          <Panel position="top-center">
            <p className={styles.small} role="status">
              {t("workflow.overview")}
            </p>
          </Panel>
        )}
        {!readOnly && (
          <Panel position="top-right">
            <Button size="sm" icon={<Plus />} onClick={() => setAdds(true)}>
              {t("workflow.addState")}
            </Button>
          </Panel>
        )}
      </ReactFlow>
      {adds && <AddStateDialog onClose={() => setAdds(false)} />}
      {connects && <ConnectDialog move={connects} onClose={() => setConnects(null)} />}
    </section>
  );
}
