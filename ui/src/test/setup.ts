import "./rendered.ts"; // First: what follows loads React.
import { cleanup, configure, getConfig } from "@testing-library/react";
import { afterEach, vi } from "vitest";
import "#ui/i18n/index.ts";
import { quickComputedStyle } from "./computedStyle.ts";
import { forgetState } from "./forget.ts";

declare global {
  interface Window {
    /** What jsdom itself computes. */
    jsdomComputedStyle?: typeof getComputedStyle;
  }
}

// Files share a process and its page: each test leaves them as it found them.
afterEach(() => {
  cleanup();
  vi.useRealTimers();
  forgetState();
});

// The first visit of a screen loads its chunk, which is slow on a busy machine.
vi.setConfig({ testTimeout: 20_000 });
configure({ asyncUtilTimeout: 10_000 });
// Each element that React makes keeps a stack: of the hundred frames nobody reads more than these.
Error.stackTraceLimit = 20;

if (!window.jsdomComputedStyle) {
  window.jsdomComputedStyle = window.getComputedStyle.bind(window);
  window.getComputedStyle = quickComputedStyle(window.jsdomComputedStyle);

  // A query that is tried again draws the page into its error each time; only the last one is read.
  const { getElementError } = getConfig();
  type Diagnostics = { readonly _disableExpensiveErrorDiagnostics?: boolean };
  const mayCost = () => !(getConfig() as Diagnostics)._disableExpensiveErrorDiagnostics;
  configure({
    getElementError: (message, container) => {
      if (mayCost()) return getElementError(message, container);
      const error = new Error(message ?? "");
      error.name = "TestingLibraryElementError";
      return error;
    },
  });
}

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

// What is copied is read back as the clipboard's stand-in reads it: by its type, once it is there.
globalThis.ClipboardItem ??= class {
  readonly #data: Record<string, string | Blob | PromiseLike<string | Blob>>;
  constructor(data: Record<string, string | Blob | PromiseLike<string | Blob>>) {
    this.#data = data;
  }
  get types() {
    return Object.keys(this.#data);
  }
  async getType(type: string) {
    const kept = await this.#data[type];
    if (kept === undefined) throw new DOMException(`nothing of type ${type}`, "NotFoundError");
    return new Blob([kept], { type });
  }
} as unknown as typeof ClipboardItem;
