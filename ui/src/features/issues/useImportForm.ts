/** What a person chooses to import, and its beginning. */
import { useState } from "react";
import { useOpMutation } from "#ui/api/client.ts";
import { findingAt, restOf } from "#ui/api/findings.ts";
import type { IssueImport, IssueKind } from "#ui/api/generated.ts";
import { useStartStates } from "#ui/domain/issues/useStartStates.ts";
import { isDatabase, type FileContent } from "./file.ts";
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
  readonly content: FileContent | null;
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
  const [board, setBoard] = useState("");
  const [chosen, setInto] = useState<string | null>(null);
  const list = useIssueList(projectId, search, isShown && tab === "host");
  const states = useStartStates(projectId);
  const into = chosen ?? states[0]?.name ?? null;
  const choose = (next: ChosenFile | null) => {
    setFile(next);
    setBoard("");
  };
  const onSuccess = (started: IssueImport) => {
    setPicked(new Set());
    choose(null);
    onStarted(started);
  };
  const fromHost = useOpMutation("issue_import", { onSuccess });
  const fromFile = useOpMutation("issue_import_file", { onSuccess });
  const { error, isPending } = tab === "host" ? fromHost : fromFile;
  const content = file?.content ?? null;
  const hasDatabase = isDatabase(content);
  // All that match are those that the list shows.
  const isStale = tab === "host" && picked.size === 0 && !isSame(search, typed);

  const send = () => {
    if (tab === "host") {
      fromHost.mutate(importInput(projectId, search, picked, into));
    } else if (file !== null && content !== null) {
      fromFile.mutate({
        project_id: projectId,
        name: file.name,
        ...content,
        ...(format === byName || hasDatabase ? {} : { kind: format }),
        ...(board.trim() === "" ? {} : { board: board.trim() }),
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
      choose(next);
    },
    hasDatabase,
    format,
    setFormat: (next: Format) => {
      fromFile.reset();
      setFormat(next);
    },
    board,
    setBoard,
    /** Whether the file may have several projects, of which one is named. */
    asksForBoard: hasDatabase || board !== "" || findingAt(fromFile.error, "board") !== undefined,
    states,
    into,
    setInto,
    isStale,
    canSend:
      tab === "file"
        ? content !== null
        : picked.size > 0 || (!isStale && (list.items?.length ?? 0) > 0),
    isPending,
    error,
    /** What no field says. */
    rest: restOf(error, [
      "into",
      ...(tab === "file" ? ["text", "data", "name", "kind", "board"] : []),
    ]),
    send,
  };
}

export type ImportFormState = ReturnType<typeof useImportForm>;
