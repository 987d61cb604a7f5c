/**
 * jsdom computes an element's style by trying every rule of its default sheet on it, which is most of
 * what a query by role costs. No sheet is loaded in tests, so what the queries and the primitives ask
 * for follows from the element's name, a few attributes, its inline style and its parents. Everything
 * else, and every document with a sheet of its own, is answered by jsdom.
 */
type Ask = typeof getComputedStyle;

/** What the default sheet sets by name and attributes alone, and no child inherits. */
const ownProperties: ReadonlySet<string> = new Set([
  "display",
  "overflow",
  "overflow-x",
  "overflow-y",
  "position",
  "transform",
  "translate",
  "scale",
  "rotate",
  "perspective",
  "filter",
  "contain",
  "container-type",
  "will-change",
]);
const inheritedProperties: ReadonlyMap<string, string> = new Map([
  ["visibility", "visible"],
  ["pointer-events", "auto"],
]);

const dashed = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const inlineOf = (element: Element) => (element as Partial<HTMLElement>).style;

export function quickComputedStyle(ask: Ask): Ask {
  const defaults = new Map<string, CSSStyleDeclaration>();
  const names = new Map<string, string>();

  const defaultsOf = (element: Element) => {
    const key = [
      element.namespaceURI,
      element.localName,
      element.getAttribute("type"),
      element.hasAttribute("hidden"),
      element.hasAttribute("open"),
    ].join(" ");
    let known = defaults.get(key);
    if (!known) {
      const bare = element.cloneNode(false) as Element;
      bare.removeAttribute("style");
      known = ask(bare);
      defaults.set(key, known);
    }
    return known;
  };
  const inherited = (element: Element, property: string) => {
    for (let at: Element | null = element; at; at = at.parentElement) {
      const value = inlineOf(at)?.getPropertyValue(property);
      if (value) return value;
    }
    return inheritedProperties.get(property);
  };
  /** Nothing where jsdom has to be asked. */
  const quick = (element: Element, property: string) => {
    if (inheritedProperties.has(property)) return inherited(element, property);
    if (!ownProperties.has(property)) return undefined;
    return (
      inlineOf(element)?.getPropertyValue(property) ||
      defaultsOf(element).getPropertyValue(property)
    );
  };

  return (element, pseudo) => {
    if (pseudo || element.ownerDocument.styleSheets.length > 0) return ask(element, pseudo);
    let full: CSSStyleDeclaration | undefined;
    const whole = () => (full ??= ask(element));
    return new Proxy({} as CSSStyleDeclaration, {
      get(_, name) {
        if (name === "getPropertyValue")
          return (property: string) =>
            quick(element, property) ?? whole().getPropertyValue(property);
        if (typeof name === "string") {
          let property = names.get(name);
          if (property === undefined) names.set(name, (property = dashed(name)));
          const value = quick(element, property);
          if (value !== undefined) return value;
        }
        const value: unknown = Reflect.get(whole(), name);
        return typeof value === "function" ? value.bind(whole()) : value;
      },
      has: (_, name) => name in whole(),
    });
  };
}
