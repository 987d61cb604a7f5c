/**
 * Texts that have no room are cut by the style sheets. Whoever points at one is told the whole of it, as its title;
 * assistive technology has it anyway. One listener for all of them: no part has to know whether its text fits.
 */

/** How far above what is pointed at a cut text is looked for. */
const levels = 3;

const isCut = (element: HTMLElement): boolean => {
  const wide = element.scrollWidth > element.clientWidth;
  // A line or less is rounding.
  const tall = element.scrollHeight > element.clientHeight + 4;
  if (!wide && !tall) return false;
  const { overflowX, textOverflow, webkitLineClamp } = getComputedStyle(element);
  if (overflowX !== "hidden" && overflowX !== "clip") return false;
  const isClamped = webkitLineClamp !== undefined && !["", "none"].includes(webkitLineClamp);
  return (wide && textOverflow === "ellipsis") || (tall && isClamped);
};

function tell(pointed: Element): void {
  let element: Element | null = pointed;
  for (let level = 0; element instanceof HTMLElement && level < levels; level += 1) {
    // A title of its own says more than the text.
    if (element.hasAttribute("title") && element.dataset["cut"] === undefined) return;
    if (isCut(element)) {
      element.title = element.textContent?.trim() ?? "";
      element.dataset["cut"] = "";
      return;
    }
    if (element.dataset["cut"] !== undefined) {
      element.removeAttribute("title");
      delete element.dataset["cut"];
    }
    element = element.parentElement;
  }
}

/** Listens for the whole page; called once. */
export function installCutTexts(target: Document): () => void {
  const listener = ({ target: pointed }: Event) => {
    if (pointed instanceof Element) tell(pointed);
  };
  target.addEventListener("pointerover", listener, { passive: true });
  return () => target.removeEventListener("pointerover", listener);
}
