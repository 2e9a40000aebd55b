// Small things that several views need: a token alone, a bar, a token in one line, a choice, news of tokenizers.

import { counted, h } from "./dom.js";
import { tokenNodes } from "./draw.js";

/** One token by its look, alone: it stands inside of an element of class `tokens`, and no neighbor changes its order. */
export const chip = (look) => h("span", { class: `t lone h${look.hue}${look.special ? " x" : ""}` }, ...tokenNodes(look));

/** Tokens in a row, with what stands between them. */
export const chips = (looks, between = "") =>
  h("span", { class: "tokens chips" }, ...looks.flatMap((look, index) => (index && between ? [between, chip(look)] : [chip(look)])));

/** A bar as long as its share of the longest one; the number stands beside it, for those who do not see the bar. */
export function bar(share, kind = "") {
  const element = h("span", { class: `bar-of ${kind}`, "aria-hidden": "true" });
  element.style.setProperty("--share", String(share));
  return element;
}

/** A token in one line: "id 496 · 3 bytes 73 74 72". */
export function inOneLine(drawing, index) {
  const { id, hex } = drawing.table[drawing.looks[index]];
  return `id ${id} · ${counted(hex.length / 2, "byte")} ${hex.replace(/..(?!$)/g, "$& ")}`;
}

/** A labelled select; `choices` are pairs of a value and what a person reads. */
export function choice(label, choices, act) {
  const select = h("select", { on: { change: () => act(select.value) } }, ...choices.map(([value, words]) => h("option", { value }, words)));
  return Object.assign(h("label", { class: "field" }, h("span", {}, label), select), { select });
}

/** Calls when tokenizers have come or gone, which may mend what failed; not when one of them was merely loaded. */
export function onOtherTokenizers(app, act) {
  const keys = () => JSON.stringify(app.tokenizers().map((entry) => entry.key));
  let known = keys();
  app.onTokenizers(() => {
    const now = keys();
    if (now === known) return;
    known = now;
    act();
  });
}
