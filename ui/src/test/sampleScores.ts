/** The scoreboard of a host at which much was done: recorded lines with other figures. */
import type { Duel, ScoreRow, Scored, Share } from "#ui/api/generated.ts";
import type { Handlers } from "./answers.ts";
import { first, recorded } from "./recorded.ts";

const line = first({ items: recorded("scoreboard", {}).rows });

const share = (count: number, of: number, low: number, high: number): Share => ({
  count,
  of,
  rate: count / of,
  low,
  high,
});
const little = (count: number, of: number): Share => ({
  count,
  of,
  rate: null,
  low: null,
  high: null,
});

const who = (id: string, name: string): Scored => ({
  agent_id: id,
  agent_name: name,
  model: null,
  effort: null,
});
const [claude, codex, script] = [who("a1", "Claude"), who("a2", "Codex"), who("a3", "Shell")];

const rows: ScoreRow[] = [
  {
    ...line,
    who: claude,
    tasks: 48,
    passed_first: share(36, 45, 0.66, 0.89),
    merged: share(41, 46, 0.77, 0.95),
    blocked: share(3, 48, 0.02, 0.17),
    retries_per_merged: 0.4,
    passed: 42,
    median_ms: 1_260_000,
    p90_ms: 4_500_000,
    cost_micro_usd: 38_200_000,
    cost_per_merged_micro_usd: 931_707,
    runs: 141,
    unknown: 0,
    lines_added: 6_210,
    lines_removed: 1_940,
  },
  {
    ...line,
    who: codex,
    tasks: 31,
    passed_first: share(19, 30, 0.46, 0.78),
    merged: share(24, 29, 0.65, 0.92),
    blocked: share(5, 31, 0.07, 0.33),
    retries_per_merged: 0.9,
    passed: 25,
    median_ms: 1_980_000,
    p90_ms: 7_200_000,
    cost_micro_usd: 17_400_000,
    cost_per_merged_micro_usd: 725_000,
    runs: 97,
    unknown: 2,
    lines_added: 3_480,
    lines_removed: 1_102,
  },
  {
    ...line,
    who: script,
    tasks: 3,
    passed_first: little(2, 3),
    merged: little(2, 3),
    blocked: little(0, 3),
    retries_per_merged: null,
    passed: 2,
    median_ms: null,
    p90_ms: null,
    cost_micro_usd: 0,
    cost_per_merged_micro_usd: null,
    runs: 3,
    unknown: 3,
    lines_added: 40,
    lines_removed: 2,
  },
];

const duels: Duel[] = [{ first: claude, second: codex, first_won: 9, second_won: 5, neither: 1 }];

export function scoreAnswers(sample: string | null): Handlers {
  const isEmpty = sample !== "agents";
  return {
    scoreboard: ({ by }) => ({
      by: by ?? "agent",
      rows: isEmpty
        ? []
        : rows.map((row) =>
            by === "model" ? { ...row, who: { ...row.who, model: "claude-opus" } } : row,
          ),
      duels: isEmpty ? [] : duels,
    }),
    scoreboard_csv: () => ({ text: "agent,tasks\r\nClaude,48\r\n", next_cursor: null }),
  };
}
