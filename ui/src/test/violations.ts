import axe from "axe-core";

/** Rules of axe that ask whether a control, a field or a picture has a name. */
const nameRules = [
  "aria-command-name",
  "aria-dialog-name",
  "aria-input-field-name",
  "aria-meter-name",
  "aria-progressbar-name",
  "aria-toggle-field-name",
  "button-name",
  "image-alt",
  "input-button-name",
  "label",
  "link-name",
  "role-img-alt",
  "select-name",
  "summary-name",
  "svg-img-alt",
];

/** What has no name, as text. */
export async function namelessIn(container: Element): Promise<string[]> {
  return textOf(
    await axe.run(container, {
      runOnly: { type: "rule", values: nameRules },
      resultTypes: ["violations"],
      preload: false,
      iframes: false,
    }),
  );
}

const textOf = ({ violations }: axe.AxeResults): string[] =>
  violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 300)).join("\n")}`,
  );

/**
 * What axe finds, as text. Contrast is measured on the tokens, since it needs layout. No sheet, medium or
 * frame is loaded in a test, and nobody reads what passed: axe gathers none of them.
 */
export async function violationsIn(
  container: Element,
  ...without: readonly ("region" | "landmark-unique")[]
): Promise<string[]> {
  const off = ["color-contrast", ...without].map((rule) => [rule, { enabled: false }]);
  return textOf(
    await axe.run(container, {
      rules: Object.fromEntries(off),
      resultTypes: ["violations"],
      preload: false,
      iframes: false,
    }),
  );
}
