import { cleanup, configure } from "@testing-library/react";
import { afterEach, vi } from "vitest";
import "#ui/i18n/index.ts";

afterEach(cleanup);

// The first visit of a screen loads its chunk, which is slow on a busy machine.
configure({ asyncUtilTimeout: 10_000 });
vi.setConfig({ testTimeout: 20_000 });

// jsdom lays nothing out: what the primitives measure is answered with "nothing to see".
class NoResizes implements ResizeObserver {
  observe() {}
  unobserve() {}
  disconnect() {}
}
globalThis.ResizeObserver ??= NoResizes;
globalThis.matchMedia ??= ((query: string) => ({
  matches: false,
  media: query,
  onchange: null,
  addEventListener() {},
  removeEventListener() {},
  addListener() {},
  removeListener() {},
  dispatchEvent: () => false,
})) as typeof matchMedia;
Element.prototype.getAnimations ??= () => [];
Element.prototype.scrollIntoView ??= () => {};
Range.prototype.getClientRects ??= () => [] as unknown as DOMRectList;
Range.prototype.getBoundingClientRect ??= () => new DOMRect();
HTMLCanvasElement.prototype.getContext = () => null;

// Clicks made from keys are pointer events; jsdom's mouse events carry all that they need here.
globalThis.PointerEvent ??= class extends MouseEvent {
  readonly pointerType = "";
} as unknown as typeof PointerEvent;
