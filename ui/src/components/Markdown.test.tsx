import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { Markdown } from "./Markdown.tsx";

async function show(source: string, onLink: (href: string) => void = () => {}) {
  const { container } = render(<Markdown source={`${source}\n\nend`} onLink={onLink} />);
  // The parser is loaded lazily; a paragraph of its own shows that it has come.
  await vi.waitFor(() => expect(screen.getByText("end").tagName).toBe("P"), { timeout: 10_000 });
  return container;
}

it("makes elements of Markdown", async () => {
  const container = await show("# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done");
  expect(screen.getByRole("heading", { name: "Title" })).toBeTruthy();
  expect(container.querySelectorAll("td")).toHaveLength(2);
  expect(container.querySelector("input")?.checked).toBe(true);
});

it("drops raw HTML, scripts and unknown schemes", async () => {
  const container = await show(
    "<script>alert(1)</script><img src=x onerror=alert(1)>\n\n[go](javascript:alert(1)) <b onclick=x>b</b>",
  );
  expect(container.querySelector("script, img, b")).toBeNull();
  expect(container.innerHTML).not.toContain("javascript:");
  expect(container.innerHTML).not.toContain("onclick");
});

it("names images instead of fetching them", async () => {
  const container = await show("![a chart](https://example.org/x.png)");
  expect(screen.getByText("a chart")).toBeTruthy();
  expect(container.innerHTML).not.toContain("example.org");
});

it("hands links to its callback and stays where it is", async () => {
  const onLink = vi.fn<(href: string) => void>();
  await show("[docs](https://example.org/) and [task](forge://task/1)", onLink);
  await userEvent.click(screen.getByRole("link", { name: "docs" }));
  await userEvent.click(screen.getByRole("link", { name: "task" }));
  expect(onLink.mock.calls).toEqual([["https://example.org/"], ["forge://task/1"]]);
});
