/** Lessons of the sample project: two that wait, two that the repository keeps. */
import type {
  AcceptLesson,
  Lesson,
  LessonPath,
  LessonView,
  ListKnowledge,
  SearchKnowledge,
} from "#ui/api/generated.ts";
import { at } from "./sampleTasks.ts";

const lesson = (change: Partial<LessonView>): LessonView => ({
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

interface Surroundings {
  readonly full: boolean;
  /** Whether the project's work reaches its branch by pull requests. */
  byPullRequest(): boolean;
  refuse(code: string, message: string, details?: unknown, hints?: string[]): never;
  changed(...tags: string[]): void;
}

export function createSampleKnowledge({ full, byPullRequest, refuse, changed }: Surroundings) {
  const lessons: LessonView[] = full
    ? [
        lesson({}),
        lesson({
          id: "l2",
          title: "Colours come from tokens alone",
          body: "A colour in a style sheet fails **`tokens.test.ts`**; add a token for both themes.",
          paths: ["src/styles/tokens.css"],
          task_number: 5,
          created_at: at(190),
        }),
        lesson({
          id: "l0",
          status: "accepted",
          title: "Dates are stored as UTC",
          body: "The window turns them into local time.",
          file: "docs/knowledge/dates-are-stored-as-utc.md",
          commit: "4be1f06a",
          task_number: 1,
          decided_at: at(3000),
        }),
        lesson({
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
      ]
    : [];
  // The first try meets local changes; by the second the person has put them away.
  const inTheWay = new Set(["l2"]);
  const decide = (id: string, change: Partial<LessonView>): LessonView => {
    const index = lessons.findIndex((each) => each.id === id);
    const before = lessons[index];
    if (!before) return refuse("not_found", `no lesson \`${id}\``);
    const after = { ...before, ...change, decided_at: at(0) };
    lessons[index] = after;
    changed("knowledge:p1", "projects");
    return after;
  };
  return {
    knowledge_list: ({ project_id, status }: ListKnowledge) => ({
      items: lessons.filter(
        (each) =>
          project_id === "p1" && (status ? each.status === status : each.status !== "dismissed"),
      ),
      next_cursor: null,
    }),
    knowledge_search: ({ q }: SearchKnowledge) => {
      const words = q.toLocaleLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
      const kept = lessons.filter(({ status }) => status === "accepted");
      const found = kept.filter(({ title, body, file }) => {
        const text = `${title} ${body} ${file}`.toLocaleLowerCase();
        return words.some((word) => text.includes(word));
      });
      const items: Lesson[] = found.map((each) => ({
        path: each.file ?? "",
        title: each.title,
        summary: each.body,
        paths: each.paths,
        task: each.task_number,
      }));
      return { items, next_cursor: null };
    },
    knowledge_accept: ({ lesson_id, title, body, paths }: AcceptLesson) => {
      if (title === "")
        refuse("invalid", "the input is not valid: title: is missing", {
          findings: [{ path: "title", message: "is missing" }],
        });
      if (byPullRequest()) {
        const known = lessons.find((each) => each.id === lesson_id);
        const text = `# ${title ?? known?.title}\n\n${body ?? known?.body}\n`;
        refuse(
          "lesson_needs_pull_request",
          "the project brings work to main by pull requests: add the file to one",
          { file: "docs/knowledge/lesson.md", text },
        );
      }
      if (inTheWay.delete(lesson_id)) {
        const files = ["docs/knowledge/colours-come-from-tokens-alone.md"];
        refuse(
          "target_checkout_dirty",
          `local changes in /home/me/code/shop are in the way: ${files.join(", ")}`,
          { worktree: "/home/me/code/shop", files },
          ["Commit, move or undo them there, then try again. Nothing was changed."],
        );
      }
      const before = lessons.find((each) => each.id === lesson_id);
      const name = (title ?? before?.title ?? "").toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
      return decide(lesson_id, {
        status: "accepted",
        ...(title ? { title } : {}),
        ...(body ? { body } : {}),
        ...(paths ? { paths } : {}),
        file: `docs/knowledge/${name}.md`,
        commit: "9d2c11e0",
      });
    },
    knowledge_dismiss: ({ lesson_id }: LessonPath) => decide(lesson_id, { status: "dismissed" }),
  };
}
