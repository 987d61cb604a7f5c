/** The way through findings and failing lines. */
import { useEffect, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Comment, FileChange, Review } from "#ui/api/generated.ts";
import { useCommands, type Command } from "#ui/app/keys.ts";
import type { Goal } from "./goal.ts";
import { stepTo } from "./hunks.ts";
import { problemsIn } from "./problems.ts";

export interface Problems {
  readonly count: number;
  readonly next: () => void;
  readonly previous: () => void;
}

const noReviews: readonly Review[] = [];

export function useProblems(
  taskId: string,
  comments: readonly Comment[],
  files: readonly FileChange[],
  onGo: (goal: Goal) => void,
): Problems {
  const { t } = useTranslation();
  const reviews = useOp("task_reviews", { task_id: taskId }).data?.items ?? noReviews;
  const goals = useMemo(() => problemsIn(comments, reviews, files), [comments, reviews, files]);
  const current = useRef<number | null>(null);
  const latest = useRef({ goals, onGo });
  useEffect(() => {
    latest.current = { goals, onGo };
  });
  const count = goals.length;
  const [next, previous] = useMemo(() => {
    const step = (way: 1 | -1) => () => {
      const { goals: known, onGo: go } = latest.current;
      // Past the last comes the first again.
      const place =
        stepTo(current.current, way, known.length) ?? (way === 1 ? 0 : known.length - 1);
      const goal = known[place];
      if (!goal) return;
      current.current = place;
      go(goal);
    };
    return [step(1), step(-1)] as const;
  }, []);
  const commands = useMemo<Command[]>(
    () => [
      {
        id: "diff.problem.next",
        label: t("diff.problems.next"),
        group: t("task.tab.diff"),
        keys: ["]"],
        enabled: count > 0,
        run: next,
      },
      {
        id: "diff.problem.previous",
        label: t("diff.problems.previous"),
        group: t("task.tab.diff"),
        keys: ["["],
        enabled: count > 0,
        run: previous,
      },
    ],
    [t, count, next, previous],
  );
  useCommands(commands);
  return { count, next, previous };
}
