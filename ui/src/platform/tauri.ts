/** The real host. The only file that imports @tauri-apps. */
import { invoke } from "@tauri-apps/api/core";
import { listen } from "@tauri-apps/api/event";
import { version } from "../../package.json";
import type {
  ChangeBatch,
  EngineContact,
  FileDrop,
  OpenKind,
  Platform,
  TaskAddress,
  Unsubscribe,
} from "./types.ts";

/**
 * `listen` answers later than we must: the subscription can be dropped before the host has
 * confirmed it, so the confirmed handle is dropped then as well.
 */
function subscribe<Payload>(event: string, listener: (payload: Payload) => void): Unsubscribe {
  let wanted = true;
  const confirmed = listen<Payload>(event, ({ payload }) => {
    if (wanted) listener(payload);
  });
  return () => {
    wanted = false;
    void confirmed.then((drop) => drop());
  };
}

interface DragDrop {
  readonly paths?: readonly string[];
  readonly position?: { readonly x: number; readonly y: number };
}

/** The host tells device pixels on Windows, and the page's own elsewhere. */
function placeOf(payload: DragDrop | null): { readonly x: number; readonly y: number } {
  const { x, y } = payload?.position ?? { x: -1, y: -1 };
  const scale = navigator.userAgent.includes("Windows") ? window.devicePixelRatio : 1;
  return { x: x / scale, y: y / scale };
}

function open(kind: OpenKind, target: string): Promise<void> {
  return invoke("shell_open", { target, kind });
}

export function createTauriPlatform(): Platform {
  return {
    version,
    call: (op, input) => invoke("api_call", { op, input }),
    onChanges: (listener) => subscribe<ChangeBatch>("changes", listener),
    onOpenTask: (listener) => subscribe<TaskAddress>("open-task", listener),
    onFileDrop: (listener) => {
      const follow = (phase: FileDrop["phase"]) =>
        subscribe<DragDrop | null>(`tauri://drag-${phase}`, (payload) =>
          listener({ phase, paths: payload?.paths ?? [], ...placeOf(payload) }),
        );
      const drops = [follow("over"), follow("drop"), follow("leave")];
      return () => {
        for (const drop of drops) drop();
      };
    },
    engine: () => invoke("shell_engine"),
    onContact: (listener) => subscribe<EngineContact>("contact", listener),
    onConnectAsked: (listener) => subscribe<null>("connect-asked", () => listener()),
    connect: (host) => invoke("shell_connect", { host }),
    reconnect: () => void invoke("shell_reconnect"),
    pickFolder: () => invoke("shell_pick_folder"),
    saveText: (name, text) => invoke("shell_save_text", { name, text }),
    openPath: (path) => open("path", path),
    openExternal: (url) => open("external", url),
    openInTerminal: (path) => open("terminal", path),
    openInEditor: (target, line = null) => invoke("shell_open", { target, kind: "editor", line }),
    openInEditorThere: (target, destination, line) =>
      invoke("shell_open", { target, kind: "editor", destination, line }),
    ready: () => void invoke("ui_ready"),
  };
}
