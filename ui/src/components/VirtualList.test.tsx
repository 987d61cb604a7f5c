import { render, screen } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { VirtualList } from "./VirtualList.tsx";

beforeEach(() => {
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(400);
  vi.spyOn(HTMLElement.prototype, "offsetWidth", "get").mockReturnValue(300);
  vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(400);
});

const some = (count: number) => Array.from({ length: count }, (_, index) => `row ${index}`);

describe("a long list", () => {
  it("is not walked over when it is drawn anew with the same items", () => {
    const asked = vi.fn<(item: string) => void>();
    const list = (items: readonly string[], mark: string) => (
      <VirtualList
        items={items}
        keyOf={(item) => {
          asked(item);
          return item;
        }}
        rowHeight={20}
        label="Rows"
      >
        {(item) => (
          <span>
            {item} {mark}
          </span>
        )}
      </VirtualList>
    );
    const items = some(50_000);
    const { rerender } = render(list(items, "zeroth"));
    // The box is measured when it is there; rows come with what is drawn next.
    rerender(list(items, "first"));
    expect(screen.getByText("row 3 first")).toBeTruthy();
    asked.mockClear();
    rerender(list(items, "again"));
    expect(screen.getByText("row 3 again")).toBeTruthy();
    expect(asked.mock.calls.length).toBeLessThan(100);
  });

  it("shows other items at once", () => {
    const list = (items: readonly string[]) => (
      <VirtualList items={items} keyOf={(item) => item} rowHeight={20} label="Rows">
        {(item) => <span>{item}</span>}
      </VirtualList>
    );
    const { rerender } = render(list(["one", "two"]));
    rerender(list(["zero", "one", "two"]));
    expect(screen.getAllByRole("listitem").map(({ textContent }) => textContent)).toEqual([
      "zero",
      "one",
      "two",
    ]);
  });
});
