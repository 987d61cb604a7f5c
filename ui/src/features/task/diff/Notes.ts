/** What the comments beside a file's rows share, whichever way the rows are drawn. */
import { createContext, use } from "react";
import type { Comment } from "#ui/api/generated.ts";
import type { Composer } from "./composer.ts";

export interface Notes {
  readonly taskId: string;
  /** Under a row, by `rowKey`. */
  readonly at: ReadonlyMap<string, readonly Comment[]>;
  readonly composersAt: ReadonlyMap<string, readonly Composer[]>;
  /** The comment that was gone to, until it is there. */
  readonly wanted: string | null;
  /** It is there and has the focus. */
  readonly onFound: () => void;
  /** Gives the keyboard back to the rows. */
  readonly onLeave: () => void;
}

const NotesContext = createContext<Notes | null>(null);

export const NotesProvider = NotesContext.Provider;

export function useNotes(): Notes {
  const notes = use(NotesContext);
  if (!notes) throw new Error("comments are drawn outside of their file");
  return notes;
}
