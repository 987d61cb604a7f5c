import { describe, expect, it, vi } from "vitest";
import { stickToEnd } from "./stickyEnd.ts";

function someBox() {
  const box = document.createElement("div");
  let height = 1_000;
  Object.defineProperty(box, "scrollHeight", { get: () => height });
  Object.defineProperty(box, "clientHeight", { value: 100 });
  const grow = () => {
    height += 500;
  };
  const scrollTo = (top: number) => {
    box.scrollTop = top;
    box.dispatchEvent(new Event("scroll"));
  };
  const onChange = vi.fn<(atEnd: boolean) => void>();
  return { box, grow, scrollTo, onChange, sticky: stickToEnd(box, onChange) };
}

describe("stickToEnd", () => {
  it("follows what grows until the wheel goes up, and again when back at the end", () => {
    const { box, grow, scrollTo, onChange, sticky } = someBox();
    sticky.keep();
    expect(box.scrollTop).toBe(1_000);
    box.dispatchEvent(new WheelEvent("wheel", { deltaY: -1 }));
    expect(onChange).toHaveBeenLastCalledWith(false);
    scrollTo(300);
    grow();
    sticky.keep();
    expect(box.scrollTop).toBe(300);
    scrollTo(1_380);
    expect(onChange).toHaveBeenLastCalledWith(true);
    grow();
    sticky.keep();
    expect(box.scrollTop).toBe(2_000);
  });

  it("takes a scroll by the bar as meant, one by itself not", () => {
    const { box, scrollTo, onChange } = someBox();
    scrollTo(100);
    expect(onChange).not.toHaveBeenCalled();
    box.dispatchEvent(new Event("pointerdown"));
    scrollTo(90);
    expect(onChange).toHaveBeenCalledWith(false);
  });

  it("goes back when told, and hears nothing once dropped", () => {
    const { box, onChange, sticky } = someBox();
    box.dispatchEvent(new KeyboardEvent("keydown", { key: "Home" }));
    sticky.stick();
    expect(box.scrollTop).toBe(1_000);
    expect(onChange.mock.calls).toEqual([[false], [true]]);
    sticky.drop();
    box.dispatchEvent(new KeyboardEvent("keydown", { key: "Home" }));
    expect(onChange).toHaveBeenCalledTimes(2);
  });
});
