import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

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
    experimental: { fsModuleCache: true },
  },
});
