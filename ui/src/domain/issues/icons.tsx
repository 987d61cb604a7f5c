/** A glyph for each kind of source that issues come from. */
import { CircleDot, FileSpreadsheet, ListTodo, SquareKanban } from "lucide-react";
import type { ReactNode } from "react";
import type { IssueKind } from "#ui/api/generated.ts";

export const issueIcons: Readonly<Record<IssueKind, ReactNode>> = {
  github: <CircleDot />,
  gitlab: <CircleDot />,
  gitea: <CircleDot />,
  markdown: <ListTodo />,
  csv: <FileSpreadsheet />,
  vibe_kanban: <SquareKanban />,
};
