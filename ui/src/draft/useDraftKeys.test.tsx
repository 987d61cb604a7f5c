import { fireEvent, render, screen } from "@testing-library/react";
import { createPortal } from "react-dom";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { drafts, editDraft, openDraft } from "./drafts.ts";
import { useDraftKeys } from "./useDraftKeys.ts";

const save = vi.fn<() => void>();
const elsewhere = vi.fn<() => void>();
const onWindow = (event: KeyboardEvent) => {
  if (!event.defaultPrevented) elsewhere();
};

function Editor({ isOff = false }: { isOff?: boolean }) {
  const onKeyDown = useDraftKeys({ key: "d", save, isOff });
  return (
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
    <div onKeyDown={onKeyDown}>
      <input aria-label="field of the editor" />
      <button type="button">button of the editor</button>
    </div>
  );
}

const text = () => drafts.getState().drafts["d"]?.text;
beforeEach(() => {
  save.mockClear();
  elsewhere.mockClear();
  addEventListener("keydown", onWindow);
  openDraft("d", "one", 1);
  editDraft("d", "two");
});
afterEach(() => removeEventListener("keydown", onWindow));

it.each([
  ["the page", () => document.body],
  ["a link beside", () => screen.getByRole("link")],
  ["a button of the editor", () => screen.getByRole("button", { name: "button of the editor" })],
  ["a field of the editor", () => screen.getByRole("textbox", { name: "field of the editor" })],
])("undoes the draft once, and nothing else, with the focus on %s", (_, target) => {
  editDraft("d", "three");
  render(
    <>
      <a href="#/agents">Agents</a>
      <Editor />
    </>,
  );
  fireEvent.keyDown(target(), { key: "z", ctrlKey: true });
  expect(text()).toBe("two");
  fireEvent.keyDown(target(), { key: "s", ctrlKey: true });
  expect(save).toHaveBeenCalledTimes(1);
  expect(elsewhere).not.toHaveBeenCalled();
});

it("leaves their keys to a field beside, to a dialog, and to all while it is off", () => {
  const { rerender } = render(
    <>
      <Editor />
      <input aria-label="filter" />
      <div role="dialog" aria-label="question">
        <button type="button">answer</button>
      </div>
    </>,
  );
  for (const name of ["filter", "answer"]) {
    const target = screen.queryByRole("textbox", { name }) ?? screen.getByText(name);
    fireEvent.keyDown(target, { key: "z", ctrlKey: true });
    expect(text()).toBe("two");
  }
  expect(elsewhere).toHaveBeenCalledTimes(2);
  rerender(<Editor isOff />);
  fireEvent.keyDown(document.body, { key: "z", ctrlKey: true });
  expect(text()).toBe("two");
});

it("leaves undo to a field of the editor where the draft is of more than one page, and saves from it", () => {
  function Page() {
    const onKeyDown = useDraftKeys({ key: "d", save, fieldsUndo: true });
    return (
      // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
      <div onKeyDown={onKeyDown}>
        <input aria-label="field" />
        {createPortal(
          <div role="dialog" aria-label="question">
            <button type="button">answer</button>
          </div>,
          document.body,
        )}
      </div>
    );
  }
  render(<Page />);
  fireEvent.keyDown(screen.getByRole("textbox"), { key: "z", ctrlKey: true });
  expect(text()).toBe("two");
  fireEvent.keyDown(screen.getByRole("textbox"), { key: "s", ctrlKey: true });
  expect(save).toHaveBeenCalledTimes(1);
  fireEvent.keyDown(screen.getByText("answer"), { key: "s", ctrlKey: true });
  fireEvent.keyDown(screen.getByText("answer"), { key: "z", ctrlKey: true });
  expect(save).toHaveBeenCalledTimes(1);
  expect(text()).toBe("two");
});
