import { act, render } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { RelativeTime } from "./RelativeTime.tsx";
import { relativeTime } from "./time.ts";

afterEach(() => void vi.useRealTimers());

it("counts from the moment it is shown, however long none was shown", () => {
  const start = Date.UTC(2030, 0, 15, 12);
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  render(<RelativeTime at={start} />).unmount();
  const later = start + 3 * 3_600_000;
  vi.setSystemTime(later);
  const { container } = render(<RelativeTime at={start} />);
  expect(container.textContent).toBe(relativeTime(start, later, navigator.language));
});

const start = Date.UTC(2030, 0, 15, 12);
const later = start + 5 * 60_000;
const text = (at: number, now: number) => relativeTime(at, now, navigator.language);

it("counts from now when it comes into sight beside others that no tick has reached", () => {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  const others = render(<RelativeTime at={start} />);
  vi.setSystemTime(later);
  const { container } = render(<RelativeTime at={start} />);
  expect(container.textContent).toBe(text(start, later));
  expect(others.container.textContent).toBe(text(start, later));
});

it.each<[string, () => unknown]>([
  ["the window gets the focus", () => dispatchEvent(new Event("focus"))],
  ["the window is shown", () => document.dispatchEvent(new Event("visibilitychange"))],
])("counts anew when %s", (_, happen) => {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  const { container } = render(<RelativeTime at={start} />);
  vi.setSystemTime(later);
  act(() => void happen());
  expect(container.textContent).toBe(text(start, later));
});

it("makes no future of what has happened, and keeps one that is to come", () => {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  const happened = render(<RelativeTime at={start + 120_000} />);
  expect(happened.container.textContent).toBe(text(start, start));
  const ahead = render(<RelativeTime at={start + 120_000} isAhead />);
  expect(ahead.container.textContent).toBe(text(start + 120_000, start));
});
