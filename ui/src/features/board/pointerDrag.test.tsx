import { act, createEvent, fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { inputsOf, openApp } from "#ui/test/renderApp.tsx";
import { movedTask } from "#ui/test/answers.ts";
import { createSampleHost, type SampleHost } from "#ui/test/sampleHost.ts";
import "./BoardScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.

const width = 200;
// Found by what is written, not by role: reckoning the names of a whole board takes jsdom seconds.
const card = async (number: number) => {
  const found = (await screen.findByText(`#${number}`)).closest<HTMLElement>("[data-task]");
  if (!found) throw new Error(`failed to find the card of task ${number}`);
  return found;
};
const column = (name: string) => {
  const found = document.querySelector<HTMLElement>(`section[aria-label^="${name},"]`);
  if (!found) throw new Error(`failed to find the column ${name}`);
  return found;
};
const columns = () => [...document.querySelectorAll("section[aria-label]")];
const over = (name: string) => ({ x: (columns().indexOf(column(name)) + 0.5) * width, y: 300 });

/** The test environment's own knows neither which pointer it is nor of what kind. */
class KnownPointerEvent extends MouseEvent {
  readonly pointerId: number;
  readonly pointerType: string;
  readonly isPrimary: boolean;
  constructor(type: string, init: PointerEventInit = {}) {
    super(type, init);
    this.pointerId = init.pointerId ?? 0;
    this.pointerType = init.pointerType ?? "";
    this.isPrimary = init.isPrimary ?? false;
  }
}

// jsdom lays nothing out and captures nothing: columns stand side by side here.
beforeEach(() => {
  vi.stubGlobal("PointerEvent", KnownPointerEvent);
  Element.prototype.setPointerCapture = () => {};
  vi.spyOn(Element.prototype, "getBoundingClientRect").mockImplementation(function (this: Element) {
    const at = columns().findIndex((each) => each.contains(this));
    return at < 0 ? new DOMRect(0, 0, 1600, 720) : new DOMRect(at * width, 0, width, 720);
  });
});

async function openBoard(): Promise<SampleHost> {
  const host = createSampleHost(null, 40);
  openApp(host, "#/board/p1");
  await card(1);
  return host;
}

interface At {
  readonly x: number;
  readonly y: number;
}

const facts = ({ x, y }: At, buttons: number) => ({
  pointerId: 1,
  pointerType: "mouse",
  isPrimary: true,
  clientX: x,
  clientY: y,
  button: 0,
  buttons,
});
const press = (on: Element, at: At) => fireEvent.pointerDown(on, facts(at, 1));
const moveTo = (at: At) => fireEvent.pointerMove(document.body, facts(at, 1));
/** As an engine does it: the release, and then perhaps a click on what both have in common. */
const release = (at: At, clicked: Element = document.body) => {
  fireEvent.pointerUp(document.body, facts(at, 0));
  fireEvent.click(clicked, { detail: 1 });
};
const lifted = () => [...document.querySelectorAll<HTMLElement>("[data-task][data-lifted]")];

it("moves a card that is flicked, all in one task", async () => {
  const host = await openBoard();
  host.answer("task_move", () => movedTask(host.change("t1", { status: "in_progress" })));
  const first = await card(1);
  act(() => {
    press(first, over("Todo"));
    moveTo(over("In progress"));
    release(over("In progress"), first);
  });
  await waitFor(() => expect(inputsOf(host, "task_move")).toHaveLength(1));
  expect(inputsOf(host, "task_move")[0]).toMatchObject({ task_id: "t1", to: "in_progress" });
  await waitFor(() => expect(within(column("In progress")).getByText("#1")).toBeTruthy());
  expect(location.hash).toBe("#/board/p1");
  expect(lifted()).toEqual([]);
  expect(document.documentElement.dataset).not.toHaveProperty("dragging");
});

it("moves a card of whose flick only press and release are heard", async () => {
  const host = await openBoard();
  const first = await card(1);
  act(() => {
    press(first, over("Todo"));
    release(over("In progress"));
  });
  await waitFor(() => expect(inputsOf(host, "task_move")).toHaveLength(1));
  expect(inputsOf(host, "task_move")[0]).toMatchObject({ task_id: "t1", to: "in_progress" });
});

it("drops where it is released, not where it was last moved to", async () => {
  const host = await openBoard();
  const first = await card(1);
  press(first, over("Todo"));
  moveTo(over("In progress"));
  expect(lifted().map(({ dataset }) => dataset["task"])).toEqual(["t1"]);
  release(over("Backlog"));
  await waitFor(() => expect(inputsOf(host, "task_move")).toHaveLength(1));
  expect(inputsOf(host, "task_move")[0]).toMatchObject({ task_id: "t1", to: "backlog" });
});

it("goes on while the card is drawn elsewhere", async () => {
  const host = await openBoard();
  const first = await card(1);
  press(first, over("Todo"));
  moveTo(over("Backlog"));
  act(() => void host.change("t1", { status: "review" }));
  await waitFor(() => expect(within(column("Review")).getByText("#1")).toBeTruthy());
  expect(first.isConnected).toBe(false);
  moveTo(over("In progress"));
  release(over("In progress"));
  await waitFor(() => expect(inputsOf(host, "task_move")).toHaveLength(1));
  expect(inputsOf(host, "task_move")[0]).toMatchObject({ task_id: "t1", to: "in_progress" });
});

it("takes the whole selection along", async () => {
  const host = await openBoard();
  const user = userEvent.setup();
  await user.keyboard("{Control>}");
  await user.click(await card(1));
  await user.click(await card(6));
  await user.keyboard("{/Control}");
  press(await card(6), over("Todo"));
  moveTo(over("Backlog"));
  expect(lifted()).toHaveLength(2);
  release(over("Backlog"));
  await waitFor(() => expect(inputsOf(host, "task_move")).toHaveLength(2));
});

it("leaves a press that hardly moves a click", async () => {
  const host = await openBoard();
  const first = await card(1);
  const { x, y } = over("Todo");
  press(first, { x, y });
  moveTo({ x: x + 3, y: y + 3 });
  expect(lifted()).toEqual([]);
  release({ x: x + 3, y: y + 3 }, first);
  await waitFor(() => expect(location.hash).toBe("#/board/p1?task=1"));
  expect(inputsOf(host, "task_move")).toEqual([]);
});

it("swallows the click of a drag alone, not the next", async () => {
  await openBoard();
  const first = await card(1);
  press(first, over("Todo"));
  moveTo({ x: over("Todo").x, y: 340 });
  release({ x: over("Todo").x, y: 340 }, first);
  expect(location.hash).toBe("#/board/p1");
  press(first, over("Todo"));
  release(over("Todo"), first);
  await waitFor(() => expect(location.hash).toBe("#/board/p1?task=1"));
});

it.each([
  ["Escape", () => fireEvent.keyDown(document.activeElement ?? document.body, { key: "Escape" })],
  ["the system", () => fireEvent.pointerCancel(document.body, facts({ x: 0, y: 0 }, 0))],
  ["a lost capture", () => fireEvent.lostPointerCapture(document.body, facts({ x: 0, y: 0 }, 1))],
  // Released over another window: the next that is heard of the pointer is a move without a button.
  ["an unheard release", () => fireEvent.pointerMove(document.body, facts({ x: 0, y: 0 }, 0))],
])("puts the card back at %s", async (_, interrupt) => {
  const host = await openBoard();
  const first = await card(1);
  press(first, over("Todo"));
  moveTo(over("In progress"));
  expect(lifted()).toHaveLength(1);
  act(() => void interrupt());
  expect(lifted()).toEqual([]);
  expect(screen.getByText("Move cancelled.", { selector: "[role=status]" })).toBeTruthy();
  release(over("In progress"), first);
  expect(inputsOf(host, "task_move")).toEqual([]);
  expect(location.hash).toBe("#/board/p1");
});

it("hears no key while a card hangs at the pointer", async () => {
  await openBoard();
  const first = await card(1);
  act(() => first.focus());
  press(first, over("Todo"));
  moveTo(over("In progress"));
  await userEvent.keyboard("{Enter} ");
  expect(location.hash).toBe("#/board/p1");
  expect(lifted()).toHaveLength(1);
  fireEvent.keyDown(first, { key: "Escape" });
});

it("starts no drag by touch, by another button, or in a title that is typed", async () => {
  await openBoard();
  const first = await card(1);
  const attempt = (on: Element, different: object) => {
    fireEvent(on, createEvent.pointerDown(on, { ...facts(over("Todo"), 1), ...different }));
    moveTo(over("In progress"));
    expect(lifted()).toEqual([]);
    fireEvent.pointerUp(document.body, facts(over("Todo"), 0));
  };
  attempt(first, { pointerType: "touch" });
  attempt(first, { button: 2, buttons: 2 });
  attempt(first, { isPrimary: false });
  act(() => first.focus());
  await userEvent.keyboard("e");
  attempt(await screen.findByLabelText("Title"), {});
});
