/**
 * What runs cost, for tests and the sample host. The same every time: nothing here is drawn by lot. A run, a sum and a
 * course are recorded ones with other figures; the recording has neither thousands of runs nor an anomaly.
 */
import type {
  CostAnomalyEntry,
  CostForecast,
  CostLine,
  CostRow,
  CostSeries,
  CostSum,
  CostTotals,
  CostTokens,
} from "#ui/api/generated.ts";
import type { Handlers } from "./answers.ts";
import { first, recorded } from "./recorded.ts";

const models = ["claude-opus-4-8", "gpt-5.5-codex", "qwen3-coder"] as const;
const hour = 3_600_000;

/** As many points as the engine sends. */
const most = 2_000;

/** Numbers between 0 and 1 that look like chance. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

const tokens = (scale: number): CostTokens => ({
  input: Math.round(scale * 1_200),
  cacheRead: Math.round(scale * 8_400),
  cacheWrite: Math.round(scale * 900),
  output: Math.round(scale * 640),
  reasoning: Math.round(scale * 210),
});

const course = first({ items: recorded("cost_series", {}).lines });
const { all } = recorded("cost_totals", {});
const run = first(recorded("cost_ledger", {}));

function lineOf(model: string, samples: number, seed: number, usual: number): CostLine {
  const next = chance(seed);
  const shown = Math.min(samples, most);
  const line: CostLine = {
    ...course,
    project_id: "p1",
    project_name: "Forge",
    model,
    samples,
    unknown: seed % 3,
    at_ms: [],
    cost_micro_usd: [],
    median_micro_usd: [],
    limit_micro_usd: [],
    task_number: [],
    is_anomaly: [],
  };
  const window: number[] = [];
  for (let index = 0; index < shown; index += 1) {
    const drift = 1 + index / shown / 2;
    const dear = index > 20 && index % Math.ceil(shown / 12) === 3;
    const cost = Math.round(usual * drift * (0.6 + next() * 0.7) * (dear ? 2.9 : 1));
    const sorted = window.slice(-20).toSorted((one, other) => one - other);
    const median = sorted.length > 0 ? (sorted[Math.floor(sorted.length / 2)] ?? 0) : null;
    line.at_ms.push(Date.now() - (shown - index) * (600 / shown) * hour);
    line.cost_micro_usd.push(cost);
    line.median_micro_usd.push(median);
    line.limit_micro_usd.push(median === null ? null : median * 2);
    line.task_number.push((index % 40) + 1);
    line.is_anomaly.push(median !== null && cost > median * 2);
    window.push(cost);
  }
  return line;
}

function sampleSeries(samples: number): CostSeries {
  const parts = [0.5, 0.35, 0.15];
  return {
    lines: models.map((model, index) =>
      lineOf(model, Math.round(samples * (parts[index] ?? 0)), index + 11, 420_000 / (index + 1)),
    ),
    left_off: 0,
  };
}

function sampleAnomalies(series: CostSeries): CostAnomalyEntry[] {
  const found = series.lines.flatMap((line) =>
    line.at_ms.flatMap((at, index): CostAnomalyEntry[] => {
      const cost = line.cost_micro_usd[index] ?? 0;
      const median = line.median_micro_usd[index] ?? 0;
      if (!line.is_anomaly[index] || median === null) return [];
      const number = line.task_number[index] ?? 1;
      return [
        {
          project_id: line.project_id,
          project_name: line.project_name,
          task_number: number,
          record: {
            at: new Date(at).toISOString(),
            taskId: `t${number}`,
            executionId: `${line.model}-${index}`,
            title: "Cache the parsed configuration",
            ...(index % 2 === 0 ? {} : { strategy: "quick" }),
            model: line.model,
            costMicroUsd: cost,
            medianMicroUsd: median,
            ratio: Math.round((cost / median) * 1_000) / 1_000,
            threshold: 2,
            samples: 20,
            tokens: tokens(30),
            attempts: (index % 3) + 1,
          },
        },
      ];
    }),
  );
  return found.toSorted((one, other) => other.record.at.localeCompare(one.record.at));
}

const sum = (key: string, label: string, change: Partial<CostSum> = {}): CostSum => {
  const used = tokens((change.runs ?? 1) * 10);
  const input = used.input + used.cacheRead + used.cacheWrite;
  return {
    ...all,
    key,
    label,
    cost_micro_usd: (change.runs ?? 1) * 310_000,
    list_price_micro_usd: (change.runs ?? 1) * 90_000,
    runs: 1,
    unknown: 0,
    tokens: used,
    cached_share: used.cacheRead / input,
    ...change,
  };
};

function sampleTotals(samples: number): CostTotals {
  const days = Array.from({ length: samples === 0 ? 0 : 25 }, (_, back) => {
    const date = new Date(Date.now() - back * 24 * hour).toISOString().slice(0, 10);
    return sum(date, date, { runs: Math.max(1, Math.round(samples / 25)), unknown: back % 4 });
  });
  const some = (count: number) => ({ runs: Math.max(1, Math.round(samples * count)) });
  return {
    all: sum("", "", { runs: samples, unknown: Math.round(samples * 0.04) }),
    days,
    projects: [sum("p1", "Forge", some(0.8)), sum("p2", "Parser", some(0.2))],
    tasks: Array.from({ length: Math.min(samples, 40) }, (_, index) =>
      sum(`t${index + 1}`, "Cache the parsed configuration", {
        ...some(1 / 40),
        project_id: "p1",
        task_number: index + 1,
      }),
    ),
    agents: [
      sum("a1", "Codex", some(0.6)),
      sum("a3", "Shell", { ...some(0.1), unknown: some(0.1).runs, cost_micro_usd: 0 }),
    ],
    models: models.map((model, index) => sum(model, model, some(0.5 / (index + 1)))),
    left_off: 0,
  };
}

function sampleCostRow(index: number): CostRow {
  const model = models[index % models.length] ?? null;
  const isUnknown = index % 9 === 4;
  const isEntry = index % 7 === 2;
  return {
    ...run,
    execution_id: `x${index}`,
    task_id: `t${(index % 40) + 1}`,
    task_number: (index % 40) + 1,
    task_title: "Cache the parsed configuration",
    project_id: "p1",
    project_name: "Forge",
    role: index % 5 === 1 ? "reviewer" : "coder",
    agent_id: "a1",
    agent_name: "Codex",
    model: isUnknown ? null : model,
    models: index % 11 === 3 ? 2 : 1,
    strategy: isEntry ? (index % 2 === 0 ? "quick" : "careful") : null,
    race_won: isEntry ? index % 2 === 0 : null,
    status: index % 13 === 6 ? "failed" : "finished",
    attempt: 1,
    is_restart: index % 13 === 5,
    ended_at: new Date(Date.now() - index * hour).toISOString(),
    cost_micro_usd: isUnknown ? null : 180_000 + ((index * 7_919) % 400_000),
    cost_source: isUnknown ? "unknown" : index % 3 === 0 ? "computed" : "reported",
    price_version: index % 3 === 0 && !isUnknown ? "genai-prices 0.2.1" : null,
    tokens: tokens(20),
    is_anomaly: index % 17 === 8,
  };
}

/** A day at whose pace the limit is reached in the evening. */
export function sampleForecast(change: Partial<CostForecast> = {}): CostForecast {
  const end = new Date();
  end.setHours(24, 0, 0, 0);
  return {
    today_micro_usd: 6_180_000,
    day_end_micro_usd: 12_400_000,
    limit_micro_usd: 10_000_000,
    reaches_limit_at: new Date((Date.now() + end.getTime()) / 2).toISOString(),
    day_ends_at: end.toISOString(),
    ...change,
  };
}

/** The answers about costs of a host with so many runs. */
export function costAnswers(samples: number): Handlers {
  const series = sampleSeries(samples);
  const anomalies = sampleAnomalies(series);
  const from = (cursor: string | null | undefined) => Number(cursor ?? 0);
  const rows = (start: number, limit: number) =>
    Array.from({ length: Math.max(0, Math.min(samples - start, limit)) }, (_, index) =>
      sampleCostRow(start + index),
    );
  const next = (start: number, limit: number) =>
    start + limit < samples ? String(start + limit) : null;
  return {
    cost_forecast: () => sampleForecast(),
    cost_totals: () => sampleTotals(samples),
    cost_series: () => (samples === 0 ? { lines: [], left_off: 0 } : series),
    cost_anomalies: ({ task_id, limit }) => ({
      items: anomalies
        .filter(({ record }) => !task_id || record.taskId === task_id)
        .slice(0, limit ?? 50),
      next_cursor: null,
    }),
    cost_ledger: ({ cursor, limit }) => ({
      items: rows(from(cursor), limit ?? 50),
      next_cursor: next(from(cursor), limit ?? 50),
    }),
    cost_csv: ({ cursor, limit }) => ({
      text: [
        ...(cursor ? [] : ["execution_id,cost_micro_usd"]),
        ...rows(from(cursor), limit ?? 50).map(
          (row) => `${row.execution_id},${row.cost_micro_usd ?? ""}`,
        ),
        "",
      ].join("\r\n"),
      next_cursor: next(from(cursor), limit ?? 50),
    }),
  };
}
