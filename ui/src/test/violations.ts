import axe from "axe-core";

/**
 * What axe finds, as text. Contrast is measured on the tokens, since it needs layout. No sheet, medium or
 * frame is loaded in a test, and nobody reads what passed: axe gathers none of them.
 */
export async function violationsIn(
  container: Element,
  ...without: readonly ("region" | "landmark-unique")[]
): Promise<string[]> {
  const off = ["color-contrast", ...without].map((rule) => [rule, { enabled: false }]);
  const { violations } = await axe.run(container, {
    rules: Object.fromEntries(off),
    resultTypes: ["violations"],
    preload: false,
    iframes: false,
  });
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 300)).join("\n")}`,
  );
}
