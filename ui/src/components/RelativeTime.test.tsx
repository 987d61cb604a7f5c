import { render } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { RelativeTime } from "./RelativeTime.tsx";
import { relativeTime } from "./time.ts";

it("counts from the moment it is shown, however long none was shown", () => {
  const start = Date.UTC(2030, 0, 15, 12);
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  render(<RelativeTime at={start} />).unmount();
  const later = start + 3 * 3_600_000;
  vi.setSystemTime(later);
  const { container } = render(<RelativeTime at={start} />);
  expect(container.textContent).toBe(relativeTime(start, later, navigator.language));
});
