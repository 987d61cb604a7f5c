import { useState } from "react";
import { AnsiText } from "#ui/components/AnsiText.tsx";
import { Badge } from "#ui/components/Badge.tsx";
import { CodeEditor } from "#ui/components/CodeEditor.tsx";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { Markdown } from "#ui/components/Markdown.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { SplitPane } from "#ui/components/SplitPane.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { Table, type Column } from "#ui/components/Table.tsx";
import { Tabs } from "#ui/components/Tabs.tsx";
import { VirtualList } from "#ui/components/VirtualList.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import styles from "./Gallery.module.css";
import { Section, Specimen } from "./Specimen.tsx";

const palette = Array.from({ length: 16 }, (_, index) => {
  const code = index < 8 ? 30 + index : 82 + index;
  return `\u001b[${code}m${String(index).padStart(2, "0")}\u001b[0m `;
}).join("");

const markdown = `### Plan
Replace the \`parse\` step, then **measure** it. See [the notes](https://example.org/).

1. Read the header
2. Skip what is *unknown*

- [x] Tests first
- [ ] Benchmarks

| Case | Before | After |
|---|---:|---:|
| small | 12 ms | 4 ms |

\`\`\`
let header = Header::read(&mut input)?;
\`\`\`

![A chart](https://example.org/chart.png)`;

interface Run {
  readonly id: string;
  readonly agent: string;
  readonly minutes: number;
  readonly cost: string;
}
const runs: readonly Run[] = [
  { id: "1", agent: "Claude Code", minutes: 3, cost: "$0.42" },
  { id: "2", agent: "Codex", minutes: 95, cost: "$1.08" },
];
const columns: readonly Column<Run>[] = [
  { id: "agent", header: "Agent", cell: (run) => run.agent },
  {
    id: "started",
    header: "Started",
    cell: (run) => <RelativeTime at={Date.now() - run.minutes * 60_000} />,
  },
  { id: "cost", header: "Cost", align: "end", cell: (run) => run.cost },
];
const lines = Array.from({ length: 10_000 }, (_, index) => `Entry ${index + 1}`);

const sampleHooks = `{
  "before_work": [
    { "command": "" , "type": "script", "timeout_seconds": 300 }
  ]
}
`;
const blank = sampleHooks.indexOf('""');

export function Content() {
  const { openExternal } = usePlatform();
  const [tab, setTab] = useState<"conversation" | "diff" | "review">("conversation");
  const [width, setWidth] = useState(120);
  const [hooks, setHooks] = useState(sampleHooks);
  return (
    <Section title="Content">
      <Specimen name="Tabs">
        <div className={styles.frame} style={{ height: 130 }}>
          <Tabs
            label="Task"
            value={tab}
            onChange={setTab}
            tabs={[
              {
                id: "conversation",
                label: "Conversation",
                panel: <p className={styles.pane}>What was said.</p>,
              },
              {
                id: "diff",
                label: "Diff",
                count: 7,
                panel: <p className={styles.pane}>What was changed.</p>,
              },
              {
                id: "review",
                label: "Review",
                count: 1,
                tone: "warning",
                panel: <p className={styles.pane}>What was found.</p>,
              },
            ]}
          />
        </div>
      </Specimen>
      <Specimen name="CodeEditor">
        <CodeEditor
          label="Hooks"
          value={hooks}
          minLines={6}
          marks={[{ from: blank, to: blank + 2, message: "Must be a shell command, not blank." }]}
          onChange={setHooks}
        />
      </Specimen>
      <Specimen name="Table">
        <div className={styles.frame}>
          <Table caption="Runs" columns={columns} rows={runs} keyOf={(run) => run.id} />
        </div>
      </Specimen>
      <Specimen name="VirtualList">
        <div className={styles.frame} style={{ height: 150 }}>
          <VirtualList label="10,000 entries" items={lines} keyOf={(line) => line} rowHeight={30}>
            {(line, index) => (
              <div className={styles.line}>
                <StateGlyph kind={index % 3 === 0 ? "done" : "initial"} label="" />
                {line}
                {index % 5 === 0 && <Badge tone="review">review</Badge>}
              </div>
            )}
          </VirtualList>
        </div>
      </Specimen>
      <Specimen name="SplitPane">
        <div className={styles.frame} style={{ height: 90 }}>
          <SplitPane
            label="Files"
            side="start"
            size={width}
            min={80}
            max={260}
            onResize={setWidth}
            pane={<p className={styles.pane}>Files</p>}
          >
            <p className={styles.pane}>Move the line by pointer or arrows.</p>
          </SplitPane>
        </div>
      </Specimen>
      <Specimen name="Code">
        <CodeBlock caption="src/main.rs" code={"fn main() {\n    forge::run();\n}"} />
        <CodeBlock code={palette}>
          <AnsiText text={palette} />
        </CodeBlock>
      </Specimen>
      <Specimen name="Markdown">
        <Markdown source={markdown} onLink={(href) => void openExternal(href)} />
      </Specimen>
    </Section>
  );
}
