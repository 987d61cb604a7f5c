import { act, fireEvent, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { ApiError } from "#ui/api/error.ts";
import { hueOf, initials } from "./Avatar.tsx";
import { Button } from "./Button.tsx";
import { matchesQuery } from "./CommandPalette.tsx";
import { describeError, ErrorState } from "./ErrorState.tsx";
import { SplitPane } from "./SplitPane.tsx";
import { stateKinds, StateGlyph } from "./StateGlyph.tsx";
import { TextField } from "./TextField.tsx";
import { closeToast, showToast, ToastHost } from "./Toast.tsx";
import { TooltipProvider } from "./Tooltip.tsx";

it("gives every state kind a name and a shape of its own", () => {
  const drawn = stateKinds.map((kind) => {
    const { container, unmount } = render(<StateGlyph kind={kind} />);
    expect(screen.getByRole("img").getAttribute("aria-label")).toBeTruthy();
    const { innerHTML } = container.querySelector("svg") as SVGElement;
    unmount();
    return innerHTML;
  });
  expect(new Set(drawn).size).toBe(stateKinds.length);
});

it.each<[string, string]>([
  ["Claude Code", "CC"],
  ["codex", "CO"],
  ["gemini-cli", "GC"],
  ["Ö", "Ö"],
  ["", "?"],
])("abbreviates %j to %j", (name, expected) => {
  expect(initials(name)).toBe(expected);
  expect(hueOf(name)).toBe(hueOf(name));
});

it("takes no click while busy, and keeps focus", async () => {
  const onClick = vi.fn<() => void>();
  render(
    <Button busy onClick={onClick}>
      Saving…
    </Button>,
  );
  await userEvent.click(screen.getByRole("button"));
  expect(onClick).not.toHaveBeenCalled();
  await userEvent.tab();
  expect(document.activeElement).toBe(screen.getByRole("button"));
});

it("ties label, hint and error to the field", () => {
  render(<TextField label="Branch" hint="Short" error="No spaces" />);
  const field = screen.getByRole("textbox", { name: "Branch" });
  const described = (field.getAttribute("aria-describedby") ?? "")
    .split(" ")
    .map((id) => document.getElementById(id)?.textContent);
  expect(described).toEqual(["Short", "No spaces"]);
  expect(field.getAttribute("aria-invalid")).toBe("true");
});

it("says what, why and what to do, and copies all of it", async () => {
  const error = new ApiError({
    code: "conflict",
    message: "failed to save: it changed",
    hints: ["Reload"],
  });
  const onRetry = vi.fn<() => void>();
  userEvent.setup();
  render(
    <TooltipProvider>
      <ErrorState title="Not saved" error={error} onRetry={onRetry} />
    </TooltipProvider>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(onRetry).toHaveBeenCalledOnce();
  expect(screen.getByRole("list", { name: "What to do" }).textContent).toBe("Reload");
  await userEvent.click(screen.getByRole("button", { name: "Copy details" }));
  expect(await navigator.clipboard.readText()).toBe(describeError("Not saved", error));
});

it("resizes by keys within its bounds", () => {
  const onResize = vi.fn<(size: number) => void>();
  render(
    <SplitPane label="Width" side="end" size={400} min={390} max={600} onResize={onResize} pane="p">
      rest
    </SplitPane>,
  );
  const handle = screen.getByRole("separator", { name: "Width" });
  for (const key of ["ArrowLeft", "ArrowRight", "Home", "End"]) fireEvent.keyDown(handle, { key });
  expect(onResize.mock.calls.flat()).toEqual([416, 390, 390, 600]);
});

it("shows a toast whose action closes it", async () => {
  const onSelect = vi.fn<() => void>();
  render(
    <TooltipProvider>
      <ToastHost>page</ToastHost>
    </TooltipProvider>,
  );
  let id = "";
  act(() => {
    id = showToast({ title: "Moved", action: { label: "Undo", onSelect } });
  });
  await userEvent.click(await screen.findByRole("button", { name: "Undo" }));
  expect(onSelect).toHaveBeenCalledOnce();
  await vi.waitFor(() => expect(screen.queryByText("Moved")).toBeNull());
  act(() => closeToast(id));
});

it.each<["danger" | "success", string]>([
  ["danger", "alert"],
  ["success", "status"],
])("reads a %s toast out as %s and leaves it in the page", async (tone, role) => {
  render(
    <TooltipProvider>
      <ToastHost>page</ToastHost>
    </TooltipProvider>,
  );
  act(() => void showToast({ tone, title: "What happened" }));
  const toast = await screen.findByRole(role, { name: "What happened" });
  expect(toast.matches("[aria-hidden], [aria-modal]")).toBe(false);
  within(toast).getByRole("button", { name: "Dismiss" }).focus();
  await userEvent.keyboard("{Enter}");
  await vi.waitFor(() => expect(screen.queryByText("What happened")).toBeNull());
});

it.each<[string, boolean]>([
  ["", true],
  ["dark theme", true],
  ["THEME", true],
  ["night", true],
  ["theme light", false],
])("matches a palette item by %j: %s", (query, expected) => {
  const item = { id: "x", label: "Use Dark theme", keywords: "night", run: () => {} };
  expect(matchesQuery(item, query)).toBe(expected);
});
