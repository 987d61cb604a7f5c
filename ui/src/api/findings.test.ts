import { expect, it } from "vitest";
import { ApiError } from "./error.ts";
import { findingAt, findingsOf, restOf } from "./findings.ts";

const refused = new ApiError({
  code: "invalid",
  message: "failed to create the task: 3 findings",
  details: {
    findings: [
      { path: "title", message: "must be 1 to 300 characters" },
      { path: "review_config.ci_steps[1]", message: "is empty" },
      { path: "roles.coder", message: "no such agent" },
    ],
  },
});

it("says a finding at its field, also from inside of it", () => {
  expect(findingAt(refused, "title")).toBe("must be 1 to 300 characters");
  expect(findingAt(refused, "review_config")).toBe("is empty");
  expect(findingAt(refused, "titles")).toBeUndefined();
});

it("keeps what no field has said", () => {
  expect(restOf(refused, ["title", "review_config"])).toBe("roles.coder: no such agent");
  expect(restOf(refused, ["title", "review_config", "roles"])).toBeNull();
  expect(restOf(null, [])).toBeNull();
});

it("falls back to the message when there are no findings", () => {
  const plain = new ApiError({ code: "name_taken", message: "an agent named `x` already exists" });
  expect(findingsOf(plain)).toEqual([]);
  expect(restOf(plain, ["name"])).toBe("an agent named `x` already exists");
});
