import { describe, expect, it } from "vitest";
import { sampleDelivery, sampleStep } from "#ui/test/sampleReview.ts";
import { sampleUsage } from "#ui/test/sample.ts";
import {
  deliveryMarkdown,
  inputOf,
  isEmpty,
  openingOf,
  outputOf,
  passedOf,
  wholeTime,
} from "./delivery.ts";

const nothing = sampleDelivery({
  summary: null,
  merge: null,
  commits: [],
  checks: [],
  audit: null,
  runs: 0,
});

describe("a delivery", () => {
  it("adds up tokens and time", () => {
    const { usage } = sampleDelivery();
    expect([inputOf(usage), outputOf(usage)]).toEqual([740_000, 24_300]);
    expect([inputOf(sampleUsage), outputOf(sampleUsage)]).toEqual([0, 0]);
    const times = { started_at: "2030-01-01T10:00:00Z", finished_at: "2030-01-01T12:14:00Z" };
    expect(wholeTime(sampleDelivery(times))).toBe(134 * 60_000);
    expect(wholeTime(sampleDelivery({ started_at: null }))).toBeNull();
  });

  it("counts the checks that passed", () => {
    expect(passedOf([sampleStep(), sampleStep({ exit_code: 1 })])).toBe(1);
  });

  it("is empty when nobody worked and nothing came of it", () => {
    expect(isEmpty(nothing)).toBe(true);
    expect(isEmpty({ ...nothing, runs: 1 })).toBe(false);
  });

  it("opens with the first paragraph that is no heading", () => {
    expect(openingOf("## Done\n\nFive attempts.\n\nMore.")).toBe("Five attempts.");
    expect(openingOf(null)).toBe("");
  });

  it("is told as Markdown", () => {
    const words = {
      title: "#12 Rate-limit the login",
      commits: "Commits",
      checks: "Checks",
      facts: [
        { name: "Merge", value: "into main" },
        { name: "Cost", value: "$2.14" },
      ],
    };
    const delivery = sampleDelivery({
      summary: "Five attempts a minute.\n",
      checks: [sampleStep(), sampleStep({ index: 1, command: "make lint", exit_code: 2 })],
    });
    expect(deliveryMarkdown(delivery, words)).toBe(
      `# #12 Rate-limit the login

Five attempts a minute.

- Merge: into main
- Cost: $2.14

## Commits

- \`5f0e1d2c\` Limit attempts per address
- \`9f4c1d27\` Say when to try again

## Checks

- [x] \`npm test\`
- [ ] \`make lint\`
`,
    );
    expect(deliveryMarkdown(nothing, { ...words, facts: [] })).toBe("# #12 Rate-limit the login\n");
  });
});
