/** What a person searches for and picks, between the fields and the operations. Pure. */
import type { ImportIssues, IssueFilter, ListIssues, ListedIssue } from "#ui/api/generated.ts";

export interface Search {
  readonly text: string;
  /** As typed: separated by commas. */
  readonly labels: string;
  readonly state: IssueFilter;
}

export const everyOpen: Search = { text: "", labels: "", state: "open" };

export const isSame = (one: Search, other: Search): boolean =>
  one.text.trim() === other.text.trim() &&
  labelsOf(one.labels).join() === labelsOf(other.labels).join() &&
  one.state === other.state;

export const labelsOf = (typed: string): string[] =>
  typed
    .split(",")
    .map((label) => label.trim())
    .filter((label) => label !== "");

/** The same for searches that find the same. */
export function listInput(projectId: string, { text, labels, state }: Search): ListIssues {
  const q = text.trim();
  const wanted = labelsOf(labels);
  return {
    project_id: projectId,
    state,
    ...(q === "" ? {} : { q }),
    ...(wanted.length === 0 ? {} : { labels: wanted.join(",") }),
  };
}

/** Those picked; all that the search finds when none is. */
export function importInput(
  projectId: string,
  search: Search,
  picked: ReadonlySet<string>,
  into: string | null,
): ImportIssues {
  const target = into === null ? {} : { into };
  if (picked.size > 0) {
    return { project_id: projectId, numbers: [...picked].map(Number), ...target };
  }
  const { labels, ...rest } = listInput(projectId, search);
  return { ...rest, ...(labels ? { labels: labelsOf(labels) } : {}), ...target };
}

/** An issue that was opened between two reads pushes another one to the next page. */
export function withoutRepeats(items: readonly ListedIssue[]): readonly ListedIssue[] {
  return [...new Map(items.map((item) => [item.issue.ref, item])).values()];
}
