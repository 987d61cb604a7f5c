import { describe, expect, it } from "vitest";
import { edgePull } from "./edgeScroll.ts";

// A list from 100 to 500: its edges are 48 pixels.
const pull = (at: number, pressed: number) => edgePull(at, pressed, 100, 500);

describe("the pull of a list's edge", () => {
  it("grows towards the edge and no further", () => {
    expect(pull(300, 250)).toBe(0);
    expect(pull(476, 250)).toBe(0.5);
    expect(pull(500, 250)).toBe(1);
    expect(pull(900, 250)).toBe(1);
    expect(pull(124, 250)).toBe(-0.5);
    expect(pull(-40, 250)).toBe(-1);
  });

  it("is not felt by what was taken up there and is not moved towards it", () => {
    expect(pull(490, 490)).toBe(0);
    expect(pull(480, 490)).toBe(0);
    expect(pull(110, 105)).toBe(0);
    expect(pull(102, 105)).toBeLessThan(0);
  });

  it("is none where nothing is shown", () => {
    expect(edgePull(0, 10, 0, 0)).toBe(0);
  });
});
