/** What a drawn diff can be told, whichever way it is drawn. */
import type { ChangeStart } from "./hunks.ts";

export interface DiffViewHandle {
  goTo(change: ChangeStart): void;
}

export type DiffStyle = "unified" | "split";
