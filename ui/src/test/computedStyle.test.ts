import { expect, it } from "vitest";

const asked = [
  "display",
  "visibility",
  "pointer-events",
  "overflow",
  "overflow-x",
  "position",
  "transform",
  "color",
  "margin-top",
];
const jsdomStyle = window.jsdomComputedStyle ?? window.getComputedStyle;

const page = `
  <dialog><p>closed</p></dialog><dialog open><p>open</p></dialog>
  <div hidden><button>hidden</button></div>
  <div style="visibility: hidden; pointer-events: none; overflow: auto">
    <span>inherits</span><b style="visibility: visible; position: absolute">shown</b>
    <i style="visibility: inherit">asks to inherit</i>
  </div>
  <input type="hidden"><input type="checkbox"><textarea>x</textarea>
  <table><tbody><tr><td>cell</td></tr></tbody></table>
  <ul><li style="display: none">gone</li><li>there</li></ul>
  <svg style="display: block"><title>name</title><path d=""></path></svg>
  <details><summary>more</summary>text</details><template></template><script></script>`;

function differences(): string[] {
  return [...document.querySelectorAll("*")].flatMap((element) => {
    const [quick, whole] = [getComputedStyle(element), jsdomStyle(element)];
    return asked
      .filter((name) => quick.getPropertyValue(name) !== whole.getPropertyValue(name))
      .map((name) => `${element.outerHTML.slice(0, 60)}: ${name}`);
  });
}

it("is the one that jsdom computes", () => {
  expect(getComputedStyle).not.toBe(jsdomStyle);
  document.body.innerHTML = page;
  expect(differences()).toEqual([]);
  expect(getComputedStyle(document.body).pointerEvents).toBe("auto");
});

it("follows changes and sheets", () => {
  document.body.innerHTML = page;
  document.body.style.visibility = "hidden";
  for (const dialog of document.querySelectorAll("dialog")) dialog.toggleAttribute("open");
  expect(differences()).toEqual([]);
  document.head.innerHTML = "<style>li { display: flex } td { visibility: hidden }</style>";
  expect(differences()).toEqual([]);
});
