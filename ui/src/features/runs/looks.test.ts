import { expect, it } from "vitest";
import { sampleRun, sampleRunProcess } from "#ui/test/sampleRuns.ts";
import { cpuOf, stopOf, totalsOf, treeOf } from "./looks.ts";

const started = "2030-01-01T00:00:00Z";
const process = (pid: number, cpu_ms: number, parent: number | null = null) =>
  sampleRunProcess({ pid, parent, cpu_ms, rss_bytes: 100, started_at: started });

it("counts what was spent between two looks, also by those that began since", () => {
  const before = { at: 1_000, runs: [sampleRun({ processes: [process(1, 500)] })] };
  const now = { at: 3_000, runs: [sampleRun({ processes: [process(1, 1_500), process(2, 200)] })] };
  const cpu = cpuOf(before, now);
  expect(now.runs[0]?.processes.map(cpu)).toEqual([50, 10]);
  expect(now.runs.map((run) => totalsOf(run, cpu))).toEqual([{ cpu: 60, memory: 200 }]);
});

it("knows nothing from one look, and tells a process from a later one of its number", () => {
  const now = { at: 3_000, runs: [sampleRun({ processes: [process(1, 400)] })] };
  expect(totalsOf(sampleRun({ processes: [process(1, 400)] }), cpuOf(null, now)).cpu).toBeNull();
  const older = sampleRunProcess({ pid: 1, cpu_ms: 9_000, started_at: "2029-01-01T00:00:00Z" });
  const before = { at: 1_000, runs: [sampleRun({ processes: [older] })] };
  expect(cpuOf(before, now)(process(1, 400))).toBe(20);
});

it("puts processes behind those that started them, and loses none", () => {
  const all = [process(3, 0, 2), process(1, 0), process(2, 0, 1), process(9, 0, 777)];
  const rows = (list: typeof all) =>
    treeOf(list).map(({ process: { pid }, depth }) => [pid, depth]);
  expect(rows(all)).toEqual([
    [1, 0],
    [2, 1],
    [3, 2],
    [9, 0],
  ]);
  expect(rows([process(4, 0, 5), process(5, 0, 4)])).toHaveLength(2);
});

it("stops agents by themselves, checks with their review, and nothing else", () => {
  const script = { kind: "script", execution_id: null } as const;
  expect(stopOf(sampleRun())).toBe("execution");
  expect(stopOf(sampleRun({ ...script, id: "check-r1-0" }))).toBe("checks");
  expect(stopOf(sampleRun({ ...script, id: "hook-before_work-1" }))).toBeNull();
});
