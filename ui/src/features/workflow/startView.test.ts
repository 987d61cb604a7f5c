import { expect, it } from "vitest";
import type { Workflow } from "#ui/api/generated.ts";
import { recorded } from "#ui/test/recorded.ts";
import { layoutOf, nodeHeight, nodeWidth } from "./layout.ts";
import { readable, startView, type Box } from "./startView.ts";

const presets = recorded("workflow_presets", {}).items.map(({ workflow }) => workflow);

function boxOf(workflow: Workflow): Box {
  const { states, left } = layoutOf(workflow);
  const right = Math.max(...states.map(({ x }) => x + nodeWidth));
  const bottom = Math.max(...states.map(({ y }) => y + nodeHeight));
  const top = Math.min(...states.map(({ y }) => y));
  // Names of columns stand left of the lines.
  return { x: left - 118, y: top, width: right - left + 118, height: bottom - top };
}

function fits(box: Box, frame: { readonly width: number; readonly height: number }): number {
  const { x, y, zoom } = startView(box, frame);
  expect(box.x * zoom + x).toBeGreaterThanOrEqual(0);
  expect(box.y * zoom + y).toBeGreaterThanOrEqual(0);
  expect((box.x + box.width) * zoom + x).toBeLessThanOrEqual(frame.width);
  expect((box.y + box.height) * zoom + y).toBeLessThanOrEqual(frame.height);
  return zoom;
}

it.each([
  [900, 600],
  [1440, 900],
  [2560, 1440],
  [520, 320],
])("starts with the whole graph of every preset in a frame of %i by %i", (width, height) => {
  expect(presets.length).toBeGreaterThan(1);
  for (const workflow of presets) fits(boxOf(workflow), { width, height });
});

it("can be read at its start in the smallest window", () => {
  for (const workflow of presets) {
    expect(fits(boxOf(workflow), { width: 520, height: 420 })).toBeGreaterThanOrEqual(readable);
  }
});

it("starts whole also where that is too small to be read, and is never larger than it is", () => {
  const long = { x: -40, y: 0, width: 700, height: 6_000 };
  expect(fits(long, { width: 900, height: 600 })).toBeLessThan(readable);
  expect(startView({ x: 0, y: 0, width: 10, height: 10 }, { width: 900, height: 600 }).zoom).toBe(
    1,
  );
});
