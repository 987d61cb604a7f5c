import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// A module that takes in whatever a folder holds stays the same when the folder gets another file: what is kept of it
// would lack that file.
const fixtures = createHash("sha1").update(readdirSync("src/test/fixtures").sort().join("\n"));

// Tauri serves the bundle from its own scheme, so the build has one known engine per platform:
// the oldest WebKit we promise stands in for all of them.
export default defineConfig({
  plugins: [react({ babel: { plugins: [["babel-plugin-react-compiler", { target: "19" }]] } })],
  clearScreen: false,
  server: { host: "127.0.0.1", port: 5173, strictPort: true },
  worker: { format: "es" },
  build: {
    target: "safari18",
    sourcemap: false,
    chunkSizeWarningLimit: 700,
  },
  test: {
    environment: "jsdom",
    setupFiles: ["./src/test/setup.ts"],
    include: ["src/**/*.test.{ts,tsx}"],
    css: { modules: { classNameStrategy: "non-scoped" } },
    restoreMocks: true,
    unstubGlobals: true,
    // Importing the window and making a page cost more than most tests; `setup.ts` cleans up instead.
    isolate: false,
    maxWorkers: "100%",
    // The compiler of components takes longer than the tests: what it made of an unchanged file is kept.
    experimental: {
      fsModuleCache: true,
      fsModuleCachePath: `node_modules/.vitest-modules/${fixtures.digest("hex").slice(0, 12)}`,
    },
  },
});
