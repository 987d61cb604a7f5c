import { useImperativeHandle, useRef, type Ref } from "react";
import { useTranslation } from "react-i18next";
import type { WorkflowView } from "#ui/api/generated.ts";
import { machineOf, type Machines } from "#ui/domain/machines/machines.ts";
import { statesOf } from "#ui/domain/useStates.ts";
import { Badge } from "#ui/components/Badge.tsx";
import type { AgentNames } from "./BoardCard.tsx";
import { CardFace } from "./Card.tsx";
import { agentOf } from "./format.ts";
import { useBoard } from "./model.ts";
import type { Point } from "./pointerDrag.ts";
import card from "./Card.module.css";
import styles from "./BoardArea.module.css";

export interface GhostHandle {
  /** The box of the card that is taken up, and where in it. */
  begin(box: DOMRect, pointer: Point): void;
  moveTo(pointer: Point): void;
}

/** The card under the pointer. It is moved by hand: a render for each pixel would be felt. */
export function DragGhost({
  handle,
  view,
  agents,
  machines,
}: {
  handle: Ref<GhostHandle>;
  view: WorkflowView;
  agents: AgentNames;
  machines: Machines;
}) {
  const { t } = useTranslation();
  const element = useRef<HTMLDivElement>(null);
  const grip = useRef({ x: 0, y: 0 });
  useImperativeHandle(handle, () => {
    const moveTo = ({ x, y }: Point) => {
      if (!element.current) return;
      const left = Math.round(x - grip.current.x);
      const top = Math.round(y - grip.current.y);
      element.current.style.transform = `translate(${left}px, ${top}px)`;
    };
    return {
      moveTo,
      begin(box, pointer) {
        grip.current = { x: pointer.x - box.left, y: pointer.y - box.top };
        if (element.current) element.current.style.width = `${box.width}px`;
        moveTo(pointer);
      },
    };
  });
  const drag = useBoard((state) => (state.drag?.mode === "pointer" ? state.drag : null));
  const task = drag?.tasks[0];
  const state = task && statesOf(view).get(task.status);
  const holder = task ? agentOf(task, view.work_role) : null;
  return (
    <div ref={element} className={styles.ghost} aria-hidden>
      {drag && task && (
        <div className={card.card} data-card>
          <CardFace
            task={task}
            state={state}
            agent={holder === "user" ? t("board.you") : holder && (agents.get(holder) ?? holder)}
            machine={machines.get(machineOf(task.workspace) ?? "")}
            showState={false}
          />
        </div>
      )}
      {drag && drag.tasks.length > 1 && (
        <span className={styles.more}>
          <Badge look="count" tone="accent">
            {drag.tasks.length}
          </Badge>
        </span>
      )}
    </div>
  );
}
