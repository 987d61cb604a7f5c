import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { installCutTexts } from "./cutTexts.ts";

let drop = () => {};
beforeEach(() => {
  drop = installCutTexts(document);
});
afterEach(() => drop());

/** jsdom computes neither of them from a style sheet. */
function text(
  style: Partial<CSSStyleDeclaration>,
  widths: { readonly scroll: number; readonly client: number },
) {
  document.body.innerHTML = '<a href="#x"><span>A long title</span></a>';
  vi.spyOn(window, "getComputedStyle").mockReturnValue(style as CSSStyleDeclaration);
  const span = document.querySelector("span") as HTMLElement;
  vi.spyOn(span, "scrollWidth", "get").mockReturnValue(widths.scroll);
  vi.spyOn(span, "clientWidth", "get").mockReturnValue(widths.client);
  return span;
}
const point = (at: Element) => at.dispatchEvent(new Event("pointerover", { bubbles: true }));
const cutting = { overflowX: "hidden", textOverflow: "ellipsis" };

it("tells the whole of a text that is cut, and no more once it fits", () => {
  const span = text(cutting, { scroll: 300, client: 100 });
  point(span);
  expect(span.title).toBe("A long title");
  vi.spyOn(span, "clientWidth", "get").mockReturnValue(400);
  point(span);
  expect(span.hasAttribute("title")).toBe(false);
});

it("leaves a title of its own, and what scrolls or fits, as they are", () => {
  const own = text(cutting, { scroll: 300, client: 100 });
  own.title = "More";
  point(own);
  expect(own.title).toBe("More");
  const scrolls = text({ overflowX: "auto" }, { scroll: 300, client: 100 });
  point(scrolls);
  expect(scrolls.hasAttribute("title")).toBe(false);
  const fits = text(cutting, { scroll: 100, client: 100 });
  point(fits);
  expect(fits.hasAttribute("title")).toBe(false);
});
