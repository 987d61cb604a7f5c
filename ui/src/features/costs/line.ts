/** The course of one model's costs as a chart and a table want it. Pure. */
import type { CostLine } from "#ui/api/generated.ts";

const perDollar = 1_000_000;

export interface Point {
  readonly at: number;
  readonly cost: number;
  readonly median: number | null;
  readonly limit: number | null;
  readonly task: number;
  readonly isAnomaly: boolean;
}

/** The runs in the order of time. */
export function pointsOf(line: CostLine): readonly Point[] {
  return line.at_ms
    .map((at, index) => ({
      at,
      cost: line.cost_micro_usd[index] ?? 0,
      median: line.median_micro_usd[index] ?? null,
      limit: line.limit_micro_usd[index] ?? null,
      task: line.task_number[index] ?? 0,
      isAnomaly: line.is_anomaly[index] ?? false,
    }))
    .toSorted((one, other) => one.at - other.at);
}

type Column = (number | null)[];

/**
 * Seconds, then dollars, in the order in which they are painted: above what a run is told, the median, what was
 * usual, what was not. The band between the first two would else hide the runs in it.
 */
export type ChartData = [x: number[], limit: Column, median: Column, usual: Column, dear: Column];

export function chartData(points: readonly Point[]): ChartData {
  const inDollars = (micro: number | null) => (micro === null ? null : micro / perDollar);
  return [
    points.map(({ at }) => at / 1_000),
    points.map(({ limit }) => inDollars(limit)),
    points.map(({ median }) => inDollars(median)),
    points.map(({ cost, isAnomaly }) => (isAnomaly ? null : inDollars(cost))),
    points.map(({ cost, isAnomaly }) => (isAnomaly ? inDollars(cost) : null)),
  ];
}

export const keyOf = (line: CostLine): string => `${line.project_id}\n${line.model}`;

/** What the chart says in a sentence, for who does not see it. */
export function summaryOf(points: readonly Point[]) {
  const costs = points.map(({ cost }) => cost);
  return {
    anomalies: points.filter(({ isAnomaly }) => isAnomaly).length,
    least: Math.min(...costs),
    most: Math.max(...costs),
    median: points.at(-1)?.median ?? null,
  };
}

/** The run next to a place, if it is near enough to be meant. */
export function nearest(
  points: readonly Point[],
  distance: (point: Point, index: number) => number,
  within: number,
): Point | null {
  let best: Point | null = null;
  let least = within;
  for (const [index, point] of points.entries()) {
    const away = distance(point, index);
    // Of two at one place the one that stands out is meant.
    if (away < least || (away === least && point.isAnomaly)) {
      best = point;
      least = away;
    }
  }
  return best;
}
