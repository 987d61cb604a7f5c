/** A host made of functions, for component tests and for the page opened in a plain browser. */
import type {
  Change,
  ChangeBatch,
  EngineContact,
  FileDrop,
  OpenKind,
  Platform,
  TaskAddress,
} from "./types.ts";

type Answers = Readonly<Record<string, (input: never) => unknown>>;

export interface FakePlatform extends Platform {
  /** Every operation called so far, oldest first. */
  readonly calls: { readonly op: string; readonly input: unknown }[];
  /** Every text that was kept. */
  readonly saved: { readonly name: string; readonly text: string }[];
  readonly opened: {
    readonly kind: OpenKind;
    readonly target: string;
    /** Of what is on another machine. */
    readonly destination?: string;
    readonly line?: number;
  }[];
  /** Commits changes: they are numbered and sent as one batch. */
  commit(...changes: Partial<Change>[]): void;
  /** Sends a batch exactly as given, gaps included. */
  send(batch: ChangeBatch): void;
  /** The computers that were asked for, null for this one. */
  readonly connected: (string | null)[];
  /** The engine can be reached, or not. */
  contact(contact: EngineContact): void;
  /** How often the person asked to try again. */
  reconnects(): number;
  openTask(task: TaskAddress): void;
  /** Drops files or folders from outside; on nothing in particular unless told where. */
  dropFiles(paths: readonly string[], at?: { readonly x: number; readonly y: number }): void;
  isReady(): boolean;
}

export function createFakePlatform(
  answers: Answers = {},
  {
    folder = null,
    version = "0.0.0-fake",
    host = null,
    known = [],
    refusal = null,
  }: {
    folder?: string | null;
    version?: string;
    /** The computer whose engine is shown. */
    host?: string | null;
    known?: readonly string[];
    /** Why no other computer can be used. */
    refusal?: unknown;
  } = {},
): FakePlatform {
  const changeListeners = new Set<(batch: ChangeBatch) => void>();
  const taskListeners = new Set<(task: TaskAddress) => void>();
  const dropListeners = new Set<(drop: FileDrop) => void>();
  const contactListeners = new Set<(contact: EngineContact) => void>();
  const connected: FakePlatform["connected"] = [];
  let reconnects = 0;
  const calls: FakePlatform["calls"] = [];
  const opened: FakePlatform["opened"] = [];
  const saved: FakePlatform["saved"] = [];
  let seq = 0;
  let ready = false;

  const send = (batch: ChangeBatch) => {
    seq = batch.seq;
    for (const listener of changeListeners) listener(batch);
  };
  const open = (kind: OpenKind) => async (target: string) => {
    opened.push({ kind, target });
  };

  return {
    version,
    calls,
    opened,
    saved,
    async call(op, input) {
      calls.push({ op, input });
      const answer = answers[op];
      if (!answer) {
        throw {
          code: "not_found",
          message: `failed to call ${op}: the fake host has no answer for it`,
          hints: [],
          details: null,
        };
      }
      return answer(input as never);
    },
    onChanges(listener) {
      changeListeners.add(listener);
      return () => changeListeners.delete(listener);
    },
    onOpenTask(listener) {
      taskListeners.add(listener);
      return () => taskListeners.delete(listener);
    },
    onFileDrop(listener) {
      dropListeners.add(listener);
      return () => dropListeners.delete(listener);
    },
    connected,
    engine: async () => ({ host, contact: { state: "live" }, known }),
    onContact(listener) {
      contactListeners.add(listener);
      return () => contactListeners.delete(listener);
    },
    onConnectAsked: () => () => undefined,
    async connect(asked) {
      if (refusal !== null) throw refusal;
      connected.push(asked);
    },
    reconnect() {
      reconnects += 1;
    },
    contact(contact) {
      for (const listener of contactListeners) listener(contact);
    },
    reconnects: () => reconnects,
    pickFolder: async () => folder,
    async saveText(name, text) {
      saved.push({ name, text });
      return `/home/me/${name}`;
    },
    openPath: open("path"),
    openExternal: open("external"),
    openInTerminal: open("terminal"),
    async openInEditor(target, line = null) {
      opened.push({ kind: "editor", target, ...(line !== null && { line }) });
    },
    async openInEditorThere(target, destination, line) {
      opened.push({ kind: "editor", target, destination, ...(line !== null && { line }) });
    },
    ready() {
      ready = true;
    },
    send,
    commit(...changes) {
      const after = seq;
      const numbered = changes.map((change, index) => ({
        type: "task.updated",
        entity_id: "",
        tags: [],
        ...change,
        seq: after + index + 1,
      }));
      send({ after, seq: after + numbered.length, changes: numbered });
    },
    openTask(task) {
      for (const listener of taskListeners) listener(task);
    },
    dropFiles(paths, at = { x: -1, y: -1 }) {
      for (const listener of dropListeners) listener({ phase: "drop", paths, ...at });
    },
    isReady: () => ready,
  };
}
