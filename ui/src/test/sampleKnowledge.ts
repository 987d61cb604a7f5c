/** Lessons of the sample project: two that wait, two that the repository keeps. The recorded project has none. */
import type { Lesson, LessonView, ListKnowledge } from "#ui/api/generated.ts";
import { pageOf, type Handlers } from "./answers.ts";
import { at } from "./sampleTasks.ts";

const sampleLesson = (change: Partial<LessonView> = {}): LessonView => ({
  id: "l1",
  status: "proposed",
  title: "The clock of the tests stands still",
  body: "Tests that wait for time to pass hang. Move the clock by hand:\n\n```ts\nclock.advance(60_000);\n```",
  paths: ["tests/support", "src/clock.ts"],
  file: null,
  commit: null,
  task_id: "t3",
  task_number: 3,
  execution_id: "e3",
  created_at: at(18),
  decided_at: null,
  ...change,
});

export const sampleLessons = (): LessonView[] => [
  sampleLesson(),
  sampleLesson({
    id: "l2",
    title: "Colours come from tokens alone",
    body: "A colour in a style sheet fails **`tokens.test.ts`**; add a token for both themes.",
    paths: ["src/styles/tokens.css"],
    task_number: 5,
    created_at: at(190),
  }),
  sampleLesson({
    id: "l0",
    status: "accepted",
    title: "Dates are stored as UTC",
    body: "The window turns them into local time.",
    file: "docs/knowledge/dates-are-stored-as-utc.md",
    commit: "4be1f06a",
    task_number: 1,
    decided_at: at(3000),
  }),
  sampleLesson({
    id: null,
    status: "accepted",
    title: "How to release",
    body: "See the checklist.",
    file: "docs/knowledge/release.md",
    task_id: null,
    task_number: null,
    execution_id: null,
    created_at: null,
  }),
];

/** What a search finds. */
export const sampleFound: Lesson = {
  path: "docs/knowledge/dates-are-stored-as-utc.md",
  title: "Dates are stored as UTC",
  summary: "The window turns them into local time.",
  paths: ["tests/support", "src/clock.ts"],
  task: 1,
};

/** The lists of these lessons, by status. */
export const lessonsOf =
  (lessons: readonly LessonView[]) =>
  ({ project_id, status }: ListKnowledge) =>
    pageOf(lessons.filter((each) => project_id === "p1" && (!status || each.status === status)));

export function knowledgeAnswers(isFull: boolean): Handlers {
  return {
    knowledge_list: lessonsOf(isFull ? sampleLessons() : []),
    knowledge_search: () => pageOf(isFull ? [sampleFound] : []),
  };
}
