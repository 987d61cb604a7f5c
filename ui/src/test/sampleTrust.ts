/** A repository with a startup file in each state. */
import type { TrustFile, TrustFiles, TrustListing } from "#ui/api/generated.ts";

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

export function createSampleTrust(sample: string | null) {
  let files = sample === "troubles" ? sampleTrustFiles() : sampleTrustFiles().slice(0, 1);
  const listing = (): TrustListing => ({
    trusted: files.every(({ accepted }) => accepted),
    commit: "9f4c1d27ab5e00112233445566778899aabbccdd",
    files,
  });
  return {
    project_trust: listing,
    project_trust_accept: ({ files: seen }: TrustFiles) => {
      files = files
        .map((file) =>
          seen.some(({ path }) => path === file.path)
            ? { ...file, accepted: true, state: "accepted" as const, diff: "" }
            : file,
        )
        .filter(({ sha256 }) => sha256 !== null);
      return listing();
    },
  };
}
