/** A repository with a startup file in each state: the recorded project has none. */
import type { TrustFile, TrustListing } from "#ui/api/generated.ts";
import type { Handlers } from "./answers.ts";
import { cast, recorded } from "./recorded.ts";

export const sampleTrustFile = (change: Partial<TrustFile> = {}): TrustFile => ({
  path: ".mcp.json",
  sha256: "2b".repeat(32),
  accepted: false,
  state: "changed",
  commit: "9f4c1d27ab5e00112233445566778899aabbccdd",
  task_id: "t1",
  size: 112,
  content: '{\n  "mcpServers": {\n    "db": { "command": "npx", "args": ["db-mcp@2"] }\n  }\n}\n',
  cut: false,
  diff: '@@ -1,5 +1,5 @@\n {\n   "mcpServers": {\n-    "db": { "command": "npx", "args": ["db-mcp@1"] }\n+    "db": { "command": "npx", "args": ["db-mcp@2"] }\n   }\n }\n',
  ...change,
});

export const sampleTrustFiles = (): TrustFile[] => [
  sampleTrustFile({
    path: ".claude/settings.json",
    sha256: "1a".repeat(32),
    accepted: true,
    state: "accepted",
    task_id: null,
    content: '{\n  "permissions": { "deny": ["Read(.env)"] }\n}\n',
    diff: "",
  }),
  sampleTrustFile({
    path: ".envrc",
    sha256: null,
    state: "removed",
    commit: null,
    content: null,
    size: 0,
    diff: "@@ -1 +0,0 @@\n-use flake\n",
  }),
  sampleTrustFile(),
  sampleTrustFile({
    path: ".opencode/plugin/notify.ts",
    sha256: "3c".repeat(32),
    state: "new",
    commit: null,
    content:
      'export const Notify = async ({ $ }) => ({\n  event: async () => $`say "done"`,\n});\n',
    diff: "",
  }),
];

const sampleTrustListing = (files: readonly TrustFile[]): TrustListing => ({
  ...recorded("project_trust", { project_id: cast.project }),
  trusted: files.every(({ accepted }) => accepted),
  commit: "9f4c1d27ab5e00112233445566778899aabbccdd",
  files: [...files],
});

export function trustAnswers(sample: string | null): Handlers {
  const files = sampleTrustFiles();
  const listing = sampleTrustListing(sample === "troubles" ? files : files.slice(0, 1));
  return { project_trust: () => listing };
}
