/** What a person chooses to import, and its beginning. */
import { useState } from "react";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { restOf } from "#ui/api/findings.ts";
import type { IssueImport, IssueKind } from "#ui/api/generated.ts";
import { useIssueList } from "./useIssueList.ts";
import { everyOpen, importInput, isSame, type Search } from "./search.ts";

export type Source = "host" | "file";

/** The format is told by the file's name. */
export const byName = "auto";
export type Format = typeof byName | Extract<IssueKind, "markdown" | "csv" | "vibe_kanban">;

export interface ChosenFile {
  readonly name: string;
  readonly size: number;
  /** Null when it could not be read. */
  readonly text: string | null;
}

/** The states that nobody has begun a task in; the engine's choice first. */
function useStartStates(projectId: string) {
  const states = useOp("project_workflow_get", { project_id: projectId }).data?.workflow.states;
  return ["backlog", "initial"].flatMap(
    (kind) => states?.filter((state) => state.kind === kind) ?? [],
  );
}

export function useImportForm(
  projectId: string,
  isShown: boolean,
  onStarted: (started: IssueImport) => void,
) {
  const [tab, setTab] = useState<Source>("host");
  const [hasTurned, setTurned] = useState(false);
  const [typed, setTyped] = useState(everyOpen);
  const [search, setSearch] = useState(everyOpen);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [file, setFile] = useState<ChosenFile | null>(null);
  const [format, setFormat] = useState<Format>(byName);
  const [chosen, setInto] = useState<string | null>(null);
  const list = useIssueList(projectId, search, isShown && tab === "host");
  const states = useStartStates(projectId);
  const into = chosen ?? states[0]?.name ?? null;
  const onSuccess = (started: IssueImport) => {
    setPicked(new Set());
    setFile(null);
    onStarted(started);
  };
  const fromHost = useOpMutation("issue_import", { onSuccess });
  const fromFile = useOpMutation("issue_import_file", { onSuccess });
  const { error, isPending } = tab === "host" ? fromHost : fromFile;
  const text = file?.text ?? null;
  // All that match are those that the list shows.
  const isStale = tab === "host" && picked.size === 0 && !isSame(search, typed);

  const send = () => {
    if (tab === "host") {
      fromHost.mutate(importInput(projectId, search, picked, into));
    } else if (file !== null && text !== null) {
      fromFile.mutate({
        project_id: projectId,
        name: file.name,
        text,
        ...(format === byName ? {} : { kind: format }),
        ...(into === null ? {} : { into }),
      });
    }
  };
  return {
    projectId,
    tab,
    /** Whether a tab was chosen. */
    hasTurned,
    setTab: (next: Source) => {
      setTurned(true);
      setTab(next);
    },
    typed,
    setTyped,
    search,
    /** Asks for another list; what is picked stays picked. */
    searchFor: (next: Search) => {
      setTyped(next);
      setSearch(next);
      if (isSame(search, next)) list.refresh();
    },
    list,
    picked,
    setPicked,
    file,
    setFile: (next: ChosenFile) => {
      fromFile.reset();
      setFile(next);
    },
    format,
    setFormat: (next: Format) => {
      fromFile.reset();
      setFormat(next);
    },
    states,
    into,
    setInto,
    isStale,
    canSend:
      tab === "file"
        ? text !== null
        : picked.size > 0 || (!isStale && (list.items?.length ?? 0) > 0),
    isPending,
    error,
    /** What no field says. */
    rest: restOf(error, ["state", "into", ...(tab === "file" ? ["text", "name", "kind"] : [])]),
    send,
  };
}

export type ImportFormState = ReturnType<typeof useImportForm>;
