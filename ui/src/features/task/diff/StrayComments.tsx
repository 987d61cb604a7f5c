/** Comments on files that the shown changes do not hold: still there to be read and settled. */
import { useMemo } from "react";
import type { Comment } from "#ui/api/generated.ts";
import { CommentCard } from "./CommentCard.tsx";
import { NotesProvider, type Notes } from "./Notes.ts";
import styles from "./Comments.module.css";

const none: Notes["at"] & Notes["composersAt"] = new Map<string, never>();

export function StrayComments({
  taskId,
  comments,
}: {
  taskId: string;
  comments: readonly Comment[];
}) {
  const paths = useMemo(() => [...new Set(comments.map(({ path }) => path))], [comments]);
  const notes: Notes = {
    taskId,
    at: none,
    composersAt: none,
    wanted: null,
    onFound: () => {},
    onLeave: () => {},
  };
  return (
    <NotesProvider value={notes}>
      <div className={styles.top}>
        {paths.map((path) => (
          <section key={path} aria-label={path}>
            <h3 className={styles.stray}>{path}</h3>
            {comments
              .filter((comment) => comment.path === path)
              .map((comment) => (
                <CommentCard key={comment.id} comment={comment} away />
              ))}
          </section>
        ))}
      </div>
    </NotesProvider>
  );
}
