// The user's own figures: price of a million tokens and context window of each tokenizer's model.

import { h } from "../../dom.js";
import { say } from "../../language.js";

/**
 * @param {Object} app
 * @returns {HTMLElement} with `show(keys, nameOf)`; it keeps `figures` of the state: key → [price, window]
 */
export function figuresTable(app) {
  const root = h("div", { class: "money" });
  let shown = "";

  const put = (key, place, value) => {
    const all = { ...app.state.figures };
    const own = Array.isArray(all[key]) ? [...all[key]] : [null, null];
    own[place] = value > 0 ? value : null;
    if (own.some((each) => each !== null)) all[key] = own;
    else delete all[key];
    app.set({ figures: Object.keys(all).length ? all : undefined });
  };

  root.show = (keys, nameOf) => {
    const now = JSON.stringify([keys, keys.map(nameOf)]);
    if (now !== shown) {
      shown = now;
      const input = (key, place, label) => h("input", { type: "number", min: 0, step: "any", "aria-label": `${label}${say(", ")}${nameOf(key)}`, data: { key, place }, on: { input: (event) => put(key, place, event.target.valueAsNumber) } });
      const [price, size] = [say("price of a million tokens"), say("context window in tokens")];
      const row = (key) => h("tr", {}, h("th", { scope: "row" }, nameOf(key)), h("td", {}, input(key, 0, price)), h("td", {}, input(key, 1, size)));
      root.replaceChildren(h("table", {}, h("thead", {}, h("tr", {}, ...[say("tokenizer"), price, size].map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, ...keys.map(row))));
    }
    for (const input of root.querySelectorAll("input")) {
      const value = app.state.figures?.[input.dataset.key]?.[input.dataset.place];
      if (input !== document.activeElement) input.value = typeof value === "number" ? String(value) : "";
      if (typeof value === "number") root.closest("details").open = true;
    }
  };
  return root;
}
