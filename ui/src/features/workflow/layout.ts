/**
 * Where states and moves are drawn. One band a column of the board, from top to bottom, its states
 * side by side; moves run through the gaps between bands, so that no line crosses a state. The same
 * definition is always drawn the same way: no position is stored. Pure.
 */
import type { Workflow } from "#ui/api/generated.ts";
import { text, triggersOf } from "./definition.ts";

export const nodeWidth = 172;
export const nodeHeight = 48;
const columnGap = 76;
const bandGap = 56;
const margin = 22;
/** Moves that share a gap keep this far apart. */
const lane = 13;

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface PlacedState {
  readonly index: number;
  readonly x: number;
  readonly y: number;
}

export interface PlacedMove {
  /** Of its place in the definition: stable while the definition is edited elsewhere. */
  readonly id: string;
  readonly from: number;
  readonly to: number;
  readonly trigger: string;
  readonly points: readonly Point[];
  readonly label: Point;
}

export interface Band {
  readonly column: string;
  readonly y: number;
}

export interface Layout {
  readonly states: readonly PlacedState[];
  readonly moves: readonly PlacedMove[];
  readonly bands: readonly Band[];
  /** How far lines reach to the left of the states. */
  readonly left: number;
}

interface Spot {
  readonly band: number;
  readonly slot: number;
}

interface Move {
  readonly id: string;
  readonly from: number;
  readonly to: number;
  readonly trigger: string;
}

const xOf = (slot: number) => slot * (nodeWidth + columnGap);
const yOf = (band: number) => band * (nodeHeight + bandGap);

function spotsOf(workflow: Workflow): { spots: Spot[]; columns: string[] } {
  const columns: string[] = [];
  const filled: number[] = [];
  const spots = workflow.states.map((state) => {
    const column = text(state.column);
    let band = columns.indexOf(column);
    if (band < 0) band = columns.push(column) - 1;
    const slot = filled[band] ?? 0;
    filled[band] = slot + 1;
    return { band, slot };
  });
  return { spots, columns };
}

function movesOf(workflow: Workflow): Move[] {
  const byName = new Map(workflow.states.map((state, index) => [text(state.name), index]));
  return workflow.states.flatMap((state, from) =>
    triggersOf(state).flatMap(([trigger, target]) => {
      const to = byName.get(text(target.to));
      return to === undefined ? [] : [{ id: `${from}/${trigger}`, from, to, trigger }];
    }),
  );
}

type Side = "top" | "bottom" | "left" | "right";
interface Ports {
  readonly out: Side;
  readonly in: Side;
}

/** Ways on leave below and arrive above; ways back leave above and arrive below. */
function portsOf(from: Spot, to: Spot): Ports {
  if (from.band < to.band) return { out: "bottom", in: "top" };
  if (from.band > to.band) return { out: "top", in: "bottom" };
  if (to.slot === from.slot + 1) return { out: "right", in: "left" };
  if (to.slot === from.slot - 1) return { out: "left", in: "right" };
  return { out: "bottom", in: "bottom" };
}

interface End {
  readonly move: number;
  readonly isOut: boolean;
  /** How far to the side the other end lies; null straight above or below. */
  readonly toward: number | null;
}

const isStraight = (from: Spot, to: Spot) =>
  from.slot === to.slot && Math.abs(from.band - to.band) === 1;

/**
 * Ends on one side of a state are spread over it. What leads straight to the neighbour above or
 * below runs in the middle, at the same place of both; the rest leaves at the sides it leads to.
 */
function spreadEnds(moves: readonly Move[], spots: readonly Spot[]) {
  const sides = new Map<string, End[]>();
  const straight = new Map<string, number[]>();
  const add = (state: number, side: Side, end: End) => {
    const key = `${state}/${side}`;
    sides.set(key, [...(sides.get(key) ?? []), end]);
  };
  moves.forEach(({ from, to }, move) => {
    const [source, target] = [spots[from], spots[to]];
    if (!source || !target) return;
    if (isStraight(source, target)) {
      const pair = `${Math.min(from, to)}/${Math.max(from, to)}`;
      straight.set(pair, [...(straight.get(pair) ?? []), move]);
      return;
    }
    const ports = portsOf(source, target);
    // What goes far on below another column leaves by the left, where its rail is.
    const aside = source.slot === target.slot ? (source.band < target.band ? -1 : 1) : 0;
    const across = xOf(target.slot) - xOf(source.slot);
    add(from, ports.out, { move, isOut: true, toward: across || aside });
    add(to, ports.in, { move, isOut: false, toward: -across || aside });
  });
  const places = new Map<string, number>();
  for (const pair of straight.values()) {
    const down = (move: number) => (moves[move]?.from ?? 0) < (moves[move]?.to ?? 0);
    const ordered = [...pair].sort(
      (one, other) => Number(down(other)) - Number(down(one)) || one - other,
    );
    ordered.forEach((move, at) => {
      const share = ordered.length === 1 ? 0.5 : 0.27 + (0.46 * at) / (ordered.length - 1);
      places.set(`${move}/out`, share).set(`${move}/in`, share);
    });
  }
  for (const ends of sides.values()) {
    const place = (list: readonly End[], shareAt: (at: number) => number) =>
      list.forEach(({ move, isOut }, at) => {
        places.set(`${move}/${isOut ? "out" : "in"}`, shareAt(at));
      });
    const ordered = [...ends].sort(
      (one, other) => (one.toward ?? 0) - (other.toward ?? 0) || one.move - other.move,
    );
    const left = ordered.filter(({ toward }) => (toward ?? 0) < 0);
    const right = ordered.filter(({ toward }) => (toward ?? 0) >= 0);
    place(left, (at) => 0.04 + (0.18 * (at + 1)) / (left.length + 1));
    place(right, (at) => 0.78 + (0.18 * (at + 1)) / (right.length + 1));
  }
  return (move: number, isOut: boolean) => places.get(`${move}/${isOut ? "out" : "in"}`) ?? 0.5;
}

function portAt(spot: Spot, side: Side, share: number): Point {
  const [x, y] = [xOf(spot.slot), yOf(spot.band)];
  switch (side) {
    case "top":
      return { x: x + nodeWidth * share, y };
    case "bottom":
      return { x: x + nodeWidth * share, y: y + nodeHeight };
    // There and back between neighbours do not lie on each other.
    case "left":
      return { x, y: y + nodeHeight * (share < 0.5 ? 0.35 : 0.65) };
    case "right":
      return { x: x + nodeWidth, y: y + nodeHeight * (share < 0.5 ? 0.35 : 0.65) };
  }
}

/** A way down or up through bands that hit no state: as near as can be to where it wants to go. */
function railFor(spots: readonly Spot[], bands: readonly number[], wanted: readonly number[]) {
  const isFree = (x: number) =>
    spots.every(
      ({ band, slot }) =>
        !bands.includes(band) || x < xOf(slot) - 8 || x > xOf(slot) + nodeWidth + 8,
    );
  return wanted.find(isFree) ?? null;
}

/** Keeps lines apart that run through the same gap, or beside the bands. */
class Lanes {
  private readonly taken = new Map<string, number>();
  next(key: string): number {
    const count = this.taken.get(key) ?? 0;
    this.taken.set(key, count + 1);
    return count;
  }
}

/** The height of a lane in the gap below a band: the middle first, then away from it. */
function gapY(band: number, at: number): number {
  const middle = yOf(band) + nodeHeight + bandGap / 2;
  const step = Math.ceil(at / 2) * lane * (at % 2 === 0 ? 1 : -1);
  return middle + Math.max(-bandGap / 2 + 8, Math.min(bandGap / 2 - 8, step));
}

function routeOf(
  ends: { start: Point; end: Point; from: Spot; to: Spot },
  spots: readonly Spot[],
  lanes: Lanes,
): Point[] {
  const { start, end, from, to } = ends;
  if (from.band === to.band && Math.abs(from.slot - to.slot) === 1) {
    return [start, { x: end.x, y: start.y }];
  }
  const isDown = from.band <= to.band;
  const firstGap = isDown ? from.band : from.band - 1;
  const lastGap = from.band === to.band ? from.band : isDown ? to.band - 1 : to.band;
  if (firstGap === lastGap) {
    if (Math.abs(start.x - end.x) < 2) return [start, { x: start.x, y: end.y }];
    const y = gapY(firstGap, lanes.next(`gap ${firstGap}`));
    return [start, { x: start.x, y }, { x: end.x, y }, end];
  }
  const between = Array.from(
    { length: Math.abs(to.band - from.band) - 1 },
    (_, each) => from.band + (isDown ? each + 1 : -each - 1),
  );
  const beside = isDown
    ? -margin - lanes.next("left") * lane
    : Math.max(...spots.map(({ slot }) => xOf(slot) + nodeWidth)) +
      margin +
      lanes.next("right") * lane;
  const x = railFor(spots, between, [end.x, start.x]) ?? beside;
  const leave = gapY(firstGap, lanes.next(`gap ${firstGap}`));
  const arrive = gapY(lastGap, lanes.next(`gap ${lastGap}`));
  const points: Point[] = [start];
  if (x !== start.x) points.push({ x: start.x, y: leave }, { x, y: leave });
  if (x !== end.x) points.push({ x, y: arrive }, { x: end.x, y: arrive });
  return [...points, end];
}

const labelWidth = (trigger: string) => trigger.length * 6.4 + 12;

interface Box extends Point {
  readonly width: number;
}

const meet = (one: Box, other: Box) =>
  Math.abs(one.x - other.x) * 2 < one.width + other.width && Math.abs(one.y - other.y) < 17;

/** On the line, where no other name stands; the middle of its longest stretch is tried first. */
function labelFor(move: Move, points: readonly Point[], taken: Box[]): Point {
  const stretches = points.slice(1).map((end, at) => ({ start: points[at] ?? end, end }));
  const length = ({ start, end }: (typeof stretches)[number]) =>
    Math.abs(end.x - start.x) + Math.abs(end.y - start.y);
  const ordered = [...stretches].sort((one, other) => length(other) - length(one));
  const width = labelWidth(move.trigger);
  const tries = ordered.flatMap(({ start, end }) =>
    [0.5, 0.35, 0.65, 0.2, 0.8].map((share) => ({
      x: start.x + (end.x - start.x) * share,
      y: start.y + (end.y - start.y) * share,
      width,
    })),
  );
  const best = tries.find((box) => !taken.some((other) => meet(box, other))) ?? tries[0];
  if (!best) return { x: 0, y: 0 };
  taken.push(best);
  return { x: best.x, y: best.y };
}

export function layoutOf(workflow: Workflow): Layout {
  const { spots, columns } = spotsOf(workflow);
  const moves = movesOf(workflow);
  const shareOf = spreadEnds(moves, spots);
  const lanes = new Lanes();
  // A state covers what is under it: no name may stand there.
  const taken: Box[] = spots.flatMap(({ band, slot }) =>
    [8, nodeHeight / 2, nodeHeight - 8].map((down) => ({
      x: xOf(slot) + nodeWidth / 2,
      y: yOf(band) + down,
      width: nodeWidth,
    })),
  );
  // Short ways first: a rail that runs far lies outside of those it passes.
  const span = ({ from, to }: Move) => Math.abs((spots[from]?.band ?? 0) - (spots[to]?.band ?? 0));
  const order = moves
    .map((move, at) => ({ move, at }))
    .sort((one, other) => span(one.move) - span(other.move) || one.at - other.at);
  const placed = order.flatMap(({ move, at }): PlacedMove[] => {
    const [from, to] = [spots[move.from], spots[move.to]];
    if (!from || !to) return [];
    const ports = portsOf(from, to);
    const points = routeOf(
      {
        start: portAt(from, ports.out, shareOf(at, true)),
        end: portAt(to, ports.in, shareOf(at, false)),
        from,
        to,
      },
      spots,
      lanes,
    );
    return [{ ...move, points, label: labelFor(move, points, taken) }];
  });
  return {
    states: spots.map(({ band, slot }, index) => ({ index, x: xOf(slot), y: yOf(band) })),
    moves: placed,
    bands: columns.map((column, band) => ({ column, y: yOf(band) })),
    left: Math.min(0, ...placed.flatMap(({ points }) => points.map(({ x }) => x))),
  };
}

/** The points as an SVG path with rounded corners. */
export function pathOf(points: readonly Point[], radius = 7): string {
  const [first, ...rest] = points;
  if (!first) return "";
  const parts = [`M${first.x} ${first.y}`];
  rest.forEach((point, at) => {
    const before = points[at] ?? point;
    const after = rest[at + 1];
    if (!after) {
      parts.push(`L${point.x} ${point.y}`);
      return;
    }
    const toward = (target: Point) => {
      const [dx, dy] = [target.x - point.x, target.y - point.y];
      const reach = Math.min(radius, (Math.abs(dx) + Math.abs(dy)) / 2);
      return { x: point.x + Math.sign(dx) * reach, y: point.y + Math.sign(dy) * reach };
    };
    const [enter, leave] = [toward(before), toward(after)];
    parts.push(`L${enter.x} ${enter.y}`, `Q${point.x} ${point.y} ${leave.x} ${leave.y}`);
  });
  return parts.join("");
}
