// Small elements shared by views: chip, bar, one-line description of a token, select; and a listener for tokenizers.

import { h } from "./dom.js";
import { shownText, tokenNodes } from "./draw.js";
import { counted, say } from "./language.js";
import { eastAsian, languageOf } from "./text_units.js";

/** One token by its look, isolated from its neighbors; place it inside an element of class `tokens`. */
export const chip = (look) => h("span", { class: `t lone h${look.hue}${look.special ? " x" : ""}`, translate: "no", lang: languageOf(eastAsian(shownText(look.parts))) }, ...tokenNodes(look));

/** A text of the page with the languages of its East Asian characters, which select their font: 猫 in an English sentence. */
export const inLanguages = (text) =>
  text.split(/([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+)/u).map((run, index) => (index % 2 ? h("span", { lang: languageOf(eastAsian(run)) }, run) : run));

/** A row of tokens with separators. */
export const chips = (looks, between = "") =>
  h("span", { class: "tokens chips" }, ...looks.flatMap((look, index) => (index && between ? [between, chip(look)] : [chip(look)])));

/** Bar of a relative length; hidden from screen readers, which read the number beside it. */
export function bar(share, kind = "") {
  const element = h("span", { class: `bar-of ${kind}`, "aria-hidden": "true" });
  element.style.setProperty("--share", String(share));
  return element;
}

/** Describes a token in one line: "id 496 · 3 bytes 73 74 72". */
export function inOneLine(drawing, index) {
  const { id, hex } = drawing.table[drawing.looks[index]];
  return `${say("id {id}", { id })} · ${counted(hex.length / 2, "byte")} ${hex.replace(/..(?!$)/g, "$& ")}`;
}

/** A labelled select; `choices` are pairs of value and label. */
export function choice(label, choices, act) {
  const select = h("select", { on: { change: () => act(select.value) } }, ...choices.map(([value, words]) => h("option", { value }, words)));
  return Object.assign(h("label", { class: "field" }, h("span", {}, label), select), { select });
}

/**
 * A row of examples, which the view displays in place of the shared text; and a button that leads back to that.
 *
 * @param {Object} app
 * @param {Object<string, Object>} all  name -> `example`, its text, and other keys of the view
 * @param {Object} [reset]  keys to change with each of them
 * @returns {HTMLElement} with `show(state)`
 */
export function examples(app, all, reset = {}) {
  const button = (words, changes) => h("button", { type: "button", class: "link", on: { click: () => app.go({ ...reset, ...changes }) } }, words);
  const back = button(say("Back to your text"), { example: undefined });
  const row = h("div", { class: "examples" }, say("Examples:"), ...Object.entries(all).map(([name, changes]) => button(say(name), changes)), back);
  row.show = (state) => { back.hidden = state.example === undefined || !state.text; };
  return row;
}

/** Calls `act` when tokenizers were added or removed, so that failed requests can be retried; not when one was loaded. */
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
