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

/** Whether the engine of the window can be reached. */
export type EngineContact =
  | { readonly state: "live" }
  | {
      readonly state: "unreachable";
      /** Milliseconds since 1970. */
      readonly since: number;
      readonly message: string;
      readonly remedy: string;
    };

/** Which engine the window shows. */
export interface EngineShown {
  /** The computer it runs on, as ssh knows it; null is this one. */
  readonly host: string | null;
  readonly contact: EngineContact;
  /** Computers that windows were connected with, the latest first. */
  readonly known: readonly string[];
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
  /** Which engine the window shows. */
  engine(): Promise<EngineShown>;
  onContact(listener: (contact: EngineContact) => void): Unsubscribe;
  /** The menu asks for another computer. */
  onConnectAsked(listener: () => void): Unsubscribe;
  /** Opens the window of another computer's engine, or of this one's; rejects with why it cannot be used. */
  connect(host: string | null): Promise<void>;
  /** Tries at once to reach the engine. */
  reconnect(): void;
  /** Asks the person for a folder; null when they changed their mind. */
  pickFolder(): Promise<string | null>;
  /** Keeps a text where the person wants it; where that is, or null when they changed their mind. */
  saveText(name: string, text: string): Promise<string | null>;
  openPath(path: string): Promise<void>;
  openExternal(url: string): Promise<void>;
  openInTerminal(path: string): Promise<void>;
  /** Opens a folder or a file, at a line where the editor can do that. */
  openInEditor(path: string, line?: number | null): Promise<void>;
  /** The same of the machine that ssh reaches by `destination`. */
  openInEditorThere(path: string, destination: string, line: number | null): Promise<void>;
  /** The first screen is painted; the host may show the window. */
  ready(): void;
}
