// Why: the steps from a text to its tokens. First the splits, each with the part of the pattern that made it; then one
// of them, step by step: merges with the pairs that competed, or the pieces that a model chose from.

import { direction } from "../text_units.js";
import { onOtherTokenizers } from "../widgets.js";
import { counted, failure, h, number } from "../dom.js";
import { lattice } from "./why/lattice.js";
import { longest } from "./why/longest.js";
import { stepper } from "./why/merges.js";

export function mount(root, app) {
  const ask = app.latest();
  const box = app.textBox({ rows: 2 });
  const cut = h("p", { class: "quiet", hidden: true });
  const splits = h("div", { class: "splits" });
  const made = h("div", { class: "origin" });
  const steps = h("div", { class: "steps" });
  root.append(box, cut, splits, made, steps);

  let asked = "";
  let askedText = null;
  let answer = null;
  let drawn = null; // the pretoken that is shown, and its stepper
  let shown = null;

  async function update(state) {
    const { tokenizer, text, special } = state;
    const question = JSON.stringify([tokenizer, special]);
    if (asked !== question || askedText !== text) {
      [asked, askedText] = [question, text];
      try {
        const found = await ask("why", { tokenizer, text, special });
        if (found === null) return;
        answer = found;
        drawSplits();
      } catch (error) {
        answer = null; // a file that is opened may help
        for (const part of [made, steps]) part.replaceChildren();
        splits.replaceChildren(failure(error));
        return;
      }
    }
    if (answer) look(app.state);
  }

  function drawSplits() {
    drawn = null;
    cut.hidden = answer.explained_chars === answer.num_chars;
    cut.textContent = `The first ${counted(answer.explained_chars, "character")} of ${number(answer.num_chars)} are explained, as if they were the whole text.`;
    const several = answer.pretokens.map((pretoken, index) => {
      const classes = `split${pretoken.special ? " special" : ""}`;
      const spoken = `${pretoken.shown}, ${counted(pretoken.ids.length, "token")}`;
      return h("button", { type: "button", class: classes, "aria-label": spoken, on: { click: () => app.set({ pretoken: index || undefined, step: undefined }) } }, h("span", {}, pretoken.shown || "∅"), h("small", { "aria-hidden": "true" }, number(pretoken.ids.length)));
    });
    const title = h("h2", { id: "splits" }, several.length ? `The text is split in ${counted(several.length, "part")}` : "Nothing to explain: there is no text");
    const row = h("div", { class: "row", role: "group", "aria-labelledby": "splits", dir: direction(several.map((one) => one.textContent).join("")) }, ...several);
    row.addEventListener("keydown", (event) => {
      const forward = row.dir === "rtl" ? -1 : 1;
      const step = { ArrowRight: forward, ArrowLeft: -forward }[event.key];
      const next = step && several[several.indexOf(event.target) + step];
      if (!next) return;
      event.preventDefault();
      next.focus();
      next.click();
    });
    splits.replaceChildren(title, row);
  }

  function look({ pretoken, step }) {
    const index = Number.isInteger(pretoken) && pretoken >= 0 && pretoken < answer.pretokens.length ? pretoken : 0;
    const facts = answer.pretokens[index];
    if (!facts) {
      made.replaceChildren();
      return steps.replaceChildren();
    }
    if (drawn !== facts) {
      drawn = facts;
      [...splits.querySelectorAll(".split")].forEach((button, at) => {
        button.setAttribute("aria-pressed", String(at === index));
        button.tabIndex = at === index ? 0 : -1;
      });
      made.replaceChildren(...origin(facts, answer.pattern));
      shown = explain(facts);
      steps.replaceChildren(shown.element);
    }
    shown.go?.(Number.isInteger(step) ? step : 0);
  }

  function explain(facts) {
    const onStep = (step) => app.set({ step: step || undefined });
    if (facts.special) return { element: h("p", {}, "A special or added token: it is matched whole, before anything else looks at the text.") };
    if (facts.lattice) return { element: lattice(facts, answer.names) };
    if (facts.attempts) return { element: longest(facts, answer.names) };
    if (!facts.by_merges) return { element: h("p", {}, `Cut in ${counted(facts.ids.length, "token")} by the model, without steps to show: ${facts.ids.join(", ")}.`) };
    if (facts.merges.length || facts.start_ids.length > 1) return stepper(facts, answer.names, onStep, app);
    return { element: h("p", {}, `One symbol from the start, id ${facts.ids.join(", ")}: there is nothing to merge.`) };
  }

  onOtherTokenizers(app, () => {
    if (answer) return;
    asked = "";
    if (!root.hidden) update(app.state);
  });

  return {
    show(state) {
      box.show(state);
      update(state);
    },
    hide() {},
  };
}

/** Which part of the pattern made a split, among the others. */
function origin({ part, shown }, pattern) {
  if (!pattern.length) return [];
  const parts = pattern.map((text, index) => h("li", { class: index === part ? "is" : "", "aria-current": index === part ? "true" : false }, regex(text)));
  const which = part === null ? `No part of the pattern matches ${shown}: it stands for itself.` : `Part ${part + 1} of the pattern made it:`;
  const one = part === null ? [] : [h("p", { class: "pattern" }, regex(pattern[part]))];
  const all = h("details", {}, h("summary", {}, `all ${pattern.length} parts, tried in this order`), h("ol", { class: "parts" }, ...parts));
  return [h("p", {}, which), ...one, ...(pattern.length > 1 ? [all] : [])];
}

/** A piece of a pattern; its spaces, which mean something, are visible. */
function regex(text) {
  const pieces = text.split(" ").flatMap((piece, index) => (index ? [h("i", { class: "space", data: { s: "·" } }, " "), piece] : [piece]));
  return h("code", { class: "regex" }, ...pieces);
}
