/**
 * The seam between the page and whatever hosts it.
 *
 * Invariants: everything the page learns or does beyond its own pixels goes through a Platform;
 * nothing else in ui/src knows which one it has. Operations are typed in `#ui/api`, not here:
 * the seam carries names and JSON alone.
 */

/** One committed fact: small, ids only. What it means for cached answers is in its tags. */
export interface Change {
  readonly seq: number;
  readonly type: string;
  readonly project_id?: string | null;
  readonly task_id?: string | null;
  readonly entity_id: string;
  readonly tags: readonly string[];
}

/**
 * What one frame brings. `after` is the sequence number this batch follows: when it is not the
 * last one the page has seen, something was missed and everything is read again.
 */
export interface ChangeBatch {
  readonly after: number;
  readonly seq: number;
  readonly changes: readonly Change[];
}

/** What a place on disk or on the web is to be opened with. */
export type OpenKind = "path" | "external" | "terminal" | "editor";

export interface TaskAddress {
  readonly project_id: string;
  readonly number: number;
  /** Why, when a notification led here: its kind. */
  readonly about?: string | null;
}

/** What is dragged over the window from outside, and where, in CSS pixels of the page. */
export interface FileDrop {
  readonly phase: "over" | "drop" | "leave";
  /** Known once they are dropped. */
  readonly paths: readonly string[];
  readonly x: number;
  readonly y: number;
}

export type Unsubscribe = () => void;

export interface Platform {
  readonly version: string;
  /** Runs one operation of the contract; rejects with whatever the host answered. */
  call(op: string, input: unknown): Promise<unknown>;
  onChanges(listener: (batch: ChangeBatch) => void): Unsubscribe;
  /** The host asks to show a task: a deep link, a notification or the tray. */
  onOpenTask(listener: (task: TaskAddress) => void): Unsubscribe;
  /** Files or folders are dragged from outside; absent where the host cannot tell. */
  onFileDrop?(listener: (drop: FileDrop) => void): Unsubscribe;
  /** Asks the person for a folder; null when they changed their mind. */
  pickFolder(): Promise<string | null>;
  /** Keeps a text where the person wants it; where that is, or null when they changed their mind. */
  saveText(name: string, text: string): Promise<string | null>;
  openPath(path: string): Promise<void>;
  openExternal(url: string): Promise<void>;
  openInTerminal(path: string): Promise<void>;
  openInEditor(path: string): Promise<void>;
  /** Opens a folder of the machine that ssh reaches by `destination`. */
  openInEditorThere(path: string, destination: string): Promise<void>;
  /** The first screen is painted; the host may show the window. */
  ready(): void;
}
