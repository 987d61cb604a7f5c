import { CommentCard } from "./CommentCard.tsx";
import { Composer } from "./Composer.tsx";
import { useNotes } from "./Notes.ts";
import styles from "./Comments.module.css";

/** Comments under a row, and the boxes open there. Reads its own: the rows know only that it is. */
export function Thread({ at }: { at: string }) {
  const notes = useNotes();
  return (
    // The mark tells the rows that keys pressed in here are not theirs.
    <div className={styles.thread} data-thread>
      {notes.at.get(at)?.map((comment) => (
        <CommentCard key={comment.id} comment={comment} />
      ))}
      {notes.composersAt.get(at)?.map((composer) => (
        <Composer key={composer.key} composer={composer} />
      ))}
    </div>
  );
}
