import { cleanup } from "@testing-library/react";
import { afterEach } from "vitest";
import "#ui/i18n/index.ts";

afterEach(cleanup);

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
