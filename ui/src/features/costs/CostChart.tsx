/** The course of one model's costs. A canvas says nothing to a screen reader: the table beside it does. */
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { chartData, nearest, summaryOf, type Point } from "./line.ts";
import { instant, money, ticks } from "./numbers.ts";
import { rowsOf } from "#ui/store/looks.ts";
import { preferences } from "#ui/store/preferences.ts";
import styles from "./Costs.module.css";

const height = 260;
/** How near the pointer must be to a run to mean it, in pixels. */
const reach = 24;
/** From so many runs on, each is drawn smaller. */
const crowd = 300;

export interface CostChartProps {
  readonly model: string;
  readonly points: readonly Point[];
  readonly onOpen: (task: number) => void;
}

/** Tokens as the canvas takes them: what the theme makes of them now. */
function colours(probe: HTMLElement) {
  const of = (token: string) => {
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };
  const found = {
    text: of("--text-3"),
    line: of("--line"),
    usual: of("--neutral-solid"),
    dear: of("--danger-solid"),
    median: of("--accent-solid"),
    limit: of("--warning-solid"),
    band: of("--warning-bg"),
  };
  probe.style.color = "";
  return found;
}

/** An anomaly has a shape of its own: an upright diamond. */
function diamonds(chart: uPlot, series: number, colour: string): void {
  const { ctx } = chart;
  const size = 6 * devicePixelRatio;
  ctx.save();
  ctx.fillStyle = colour;
  for (const [index, value] of (chart.data[series] ?? []).entries()) {
    const x = chart.data[0][index];
    if (value == null || x === undefined) continue;
    const [left, top] = [chart.valToPos(x, "x", true), chart.valToPos(value, "y", true)];
    ctx.beginPath();
    ctx.moveTo(left, top - size);
    ctx.lineTo(left + size, top);
    ctx.lineTo(left, top + size);
    ctx.lineTo(left - size, top);
    ctx.fill();
  }
  ctx.restore();
}

function optionsOf(host: HTMLElement, count: number, hover: (chart: uPlot) => void): uPlot.Options {
  const colour = colours(host);
  const size = 11 * rowsOf(preferences.getState()).scale;
  const axis = {
    stroke: colour.text,
    grid: { stroke: colour.line, width: 1 },
    ticks: { stroke: colour.line, width: 1 },
    font: `${size}px ${getComputedStyle(host).fontFamily}`,
  };
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  const plain = (stroke: string, dash?: number[]): uPlot.Series => ({
    stroke,
    width: 2,
    points: { show: false },
    spanGaps: true,
    ...(dash ? { dash } : {}),
    ...(stepped ? { paths: stepped } : {}),
  });
  return {
    width: host.clientWidth,
    height,
    legend: { show: false },
    cursor: { points: { show: false }, drag: { x: true, y: false }, y: false },
    scales: { y: { range: (_chart, _least, most) => [0, most > 0 ? most * 1.08 : 1] } },
    axes: [
      { ...axis, space: 84, values: (_chart, at, _index, _space, step) => ticks(at, step) },
      { ...axis, size: 68, values: (_chart, values) => values.map((usd) => money(usd * 1e6)) },
    ],
    series: [
      {},
      plain(colour.limit, [6, 4]),
      plain(colour.median),
      {
        stroke: colour.usual,
        paths: () => null,
        points: { show: true, size: count > crowd ? 3 : 5, fill: colour.usual, width: 0 },
      },
      { stroke: colour.dear, paths: () => null, points: { show: false } },
    ],
    bands: [{ series: [1, 2], fill: colour.band }],
    hooks: {
      draw: [(chart) => diamonds(chart, 4, colour.dear)],
      setCursor: [hover],
    },
  };
}

/** Redrawn when the theme changes: a canvas does not follow tokens by itself. */
function useThemeTurns(): number {
  const [turns, setTurns] = useState(0);
  useEffect(() => {
    const turn = () => setTurns((before) => before + 1);
    const observer = new MutationObserver(turn);
    observer.observe(document.documentElement, {
      attributeFilter: ["data-theme", "data-contrast", "data-text"],
    });
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", turn);
    return () => {
      observer.disconnect();
      dark.removeEventListener("change", turn);
    };
  }, []);
  return turns;
}

interface DrawingProps {
  readonly label: string;
  readonly points: readonly Point[];
  readonly onOpen: (task: number) => void;
  readonly onHover: (point: Point | null) => void;
}

function Drawing({ label, points, onOpen, onHover }: DrawingProps) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current;
    // Where nothing is laid out there is nothing to draw on.
    if (!element || !document.createElement("canvas").getContext("2d")) return;
    const meant = (chart: uPlot): Point | null => {
      const { left, top } = chart.cursor;
      if (left === undefined || top === undefined || left < 0) return null;
      const distance = ({ at, cost }: Point) =>
        Math.hypot(chart.valToPos(at / 1_000, "x") - left, chart.valToPos(cost / 1e6, "y") - top);
      return nearest(points, distance, reach);
    };
    const hover = (chart: uPlot) => {
      const point = meant(chart);
      element.toggleAttribute("data-hit", point !== null);
      onHover(point);
    };
    const options = optionsOf(element, points.length, hover);
    const chart = new uPlot(options, chartData(points), element);
    chart.over.addEventListener("click", () => {
      const point = meant(chart);
      if (point) onOpen(point.task);
    });
    const resized = new ResizeObserver(() => {
      if (element.clientWidth > 0) chart.setSize({ width: element.clientWidth, height });
    });
    resized.observe(element);
    return () => {
      resized.disconnect();
      chart.destroy();
    };
  }, [points, onOpen, onHover]);
  return <div ref={host} className={styles.chart} role="img" aria-label={label} />;
}

export default function CostChart({ model, points, onOpen }: CostChartProps) {
  const { t } = useTranslation();
  const [hovered, setHovered] = useState<Point | null>(null);
  const turns = useThemeTurns();
  const summary = summaryOf(points);
  const label = t("costPage.chartLabel", {
    model,
    count: points.length,
    anomalies: t("costPage.anomalyCount", { count: summary.anomalies }),
    least: money(summary.least),
    most: money(summary.most),
  });
  return (
    <figure className={styles.figure}>
      <Drawing key={turns} label={label} points={points} onOpen={onOpen} onHover={setHovered} />
      <figcaption className={styles.hovered}>
        {hovered ? (
          <>
            <strong>#{hovered.task}</strong> {money(hovered.cost)} ·{" "}
            {hovered.median === null
              ? t("costPage.noMedian")
              : t("costPage.medianIs", { median: money(hovered.median) })}{" "}
            · {instant(hovered.at)}
          </>
        ) : (
          <ul className={styles.legend}>
            {(["usual", "dear", "median", "limit"] as const).map((mark) => (
              <li key={mark}>
                <span className={styles.mark} data-mark={mark} aria-hidden />
                {t(`costPage.mark.${mark}`)}
              </li>
            ))}
          </ul>
        )}
      </figcaption>
    </figure>
  );
}
