/** The project and the period that a page of figures looks at, kept in its address, so that they survive a reload. */
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { Select } from "#ui/components/Select.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { rangeOf, ranges, since, type Range } from "#ui/domain/range.ts";
import { setQuery, useRoute } from "./router.ts";
import { useProjects } from "./useProjects.ts";

const everyProject = "*";

export interface Period {
  readonly range: Range;
  /** The range that the address leaves out. */
  readonly usual: Range;
  readonly project: string | null;
  /** The same as the contract wants it. */
  readonly of: { readonly since?: string; readonly project?: string };
}

export function usePeriod(usual: Range): Period {
  const route = useRoute();
  const query = route.name === null ? {} : route.query;
  const range = rangeOf(query["range"] ?? usual);
  const project = query["of"] ?? null;
  // The day on which the page was opened: looked at once, so that what is asked stays the same.
  const [now] = useState(() => Date.now());
  const of = useMemo(
    () => ({ ...since(range, now), ...(project === null ? {} : { project }) }),
    [range, project, now],
  );
  return { range, usual, project, of };
}

export function PeriodFilters({ range, usual, project }: Period) {
  const { t } = useTranslation();
  const projects = useProjects();
  return (
    <>
      <Select
        label={t("nav.project")}
        hideLabel
        size="sm"
        value={project ?? everyProject}
        options={[
          { value: everyProject, label: t("period.everyProject") },
          ...projects.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        onChange={(value) => setQuery({ of: value === everyProject ? null : value })}
      />
      <SegmentedControl
        label={t("period.range")}
        value={range}
        segments={ranges.map((value) => ({ value, label: t(`period.ranges.${value}`) }))}
        onChange={(value) => setQuery({ range: value === usual ? null : value })}
      />
    </>
  );
}
