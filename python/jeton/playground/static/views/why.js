// Why view: the steps from a text to its tokens. First the pretokens, each with the regex alternative that matched it;
// then one of them, step by step: merges with their candidate pairs, a lattice, or longest matches.

import { direction } from "../text_units.js";
import { textOf } from "../textbox.js";
import { examples, onOtherTokenizers } from "../widgets.js";
import { failure, h, number } from "../dom.js";
import { counted } from "../language.js";
import { lattice } from "./why/lattice.js";
import { longest } from "./why/longest.js";
import { stepper } from "./why/merges.js";

const EXAMPLES = {
  "a long word": { example: "internationalization" },
  "camel case": { example: "parseHTTPResponse" },
  "numbers": { example: "In 2026, 12345678 is 1,234.56% more." },
  "Chinese": { example: "今天的天气很好" },
};

export function mount(root, app) {
  const ask = app.latest();
  const box = app.textBox({ rows: 2 });
  const cut = h("p", { class: "quiet", hidden: true });
  const splits = h("div", { class: "splits" });
  const made = h("div", { class: "origin" });
  const steps = h("div", { class: "steps" });
  const row = examples(app, EXAMPLES, { pretoken: undefined, step: undefined });
  root.append(box, row, cut, splits, made, steps);

  let asked = "";
  let askedText = null;
  let answer = null;
  let drawn = null; // the displayed pretoken
  let shown = null;

  async function update(state) {
    const { tokenizer, special } = state;
    const text = textOf(state);
    const question = JSON.stringify([tokenizer, special]);
    if (asked !== question || askedText !== text) {
      [asked, askedText] = [question, text];
      try {
        const found = await ask("why", { tokenizer, text, special });
        if (found === null) return;
        answer = found;
        drawSplits();
      } catch (error) {
        answer = null; // retried when a file is opened
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
    cut.textContent = `The first ${counted(answer.explained_chars, "character")} of ${number(answer.num_chars)} are explained, as a separate text.`;
    const several = answer.pretokens.map((pretoken, index) => {
      const classes = `split${pretoken.special ? " special" : ""}`;
      const spoken = `${pretoken.shown}, ${counted(pretoken.ids.length, "token")}`;
      return h("button", { type: "button", class: classes, "aria-label": spoken, on: { click: () => app.set({ pretoken: index || undefined, step: undefined }) } }, h("span", {}, pretoken.shown || "∅"), h("small", { "aria-hidden": "true" }, number(pretoken.ids.length)));
    });
    const title = h("h2", { id: "splits" }, several.length ? counted(several.length, "pretoken") : "Nothing to explain: the text is empty");
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
    if (facts.special) return { element: h("p", {}, "A special or added token, which is matched before pre-tokenization.") };
    if (facts.lattice) return { element: lattice(facts, answer.names) };
    if (facts.attempts) return { element: longest(facts, answer.names) };
    if (!facts.by_merges) return { element: h("p", {}, `Segmented into ${counted(facts.ids.length, "token")}; this model has no steps to show: ${facts.ids.join(", ")}.`) };
    if (facts.merges.length || facts.start_ids.length > 1) return stepper(facts, answer.names, onStep, app);
    return { element: h("p", {}, `One initial symbol, id ${facts.ids.join(", ")}: nothing to merge.`) };
  }

  onOtherTokenizers(app, () => {
    if (answer) return;
    asked = "";
    if (!root.hidden) update(app.state);
  });

  return {
    show(state) {
      box.show(state);
      row.show(state);
      update(state);
    },
    hide() {},
  };
}

/** Displays the regex alternative that matched a pretoken, and the others. */
function origin({ part, shown }, pattern) {
  if (!pattern.length) return [];
  const parts = pattern.map((text, index) => h("li", { class: index === part ? "is" : "", "aria-current": index === part ? "true" : false }, regex(text)));
  const which = part === null ? `No regex alternative matches ${shown}: the text between matches is a pretoken.` : `Matched by regex alternative ${part + 1}:`;
  const one = part === null ? [] : [h("p", { class: "pattern" }, regex(pattern[part]))];
  const all = h("details", {}, h("summary", {}, `all ${pattern.length} alternatives, tried in this order`), h("ol", { class: "parts" }, ...parts));
  return [h("p", {}, which), ...one, ...(pattern.length > 1 ? [all] : [])];
}

/** Displays a regex with visible spaces, which are significant. */
function regex(text) {
  const pieces = text.split(" ").flatMap((piece, index) => (index ? [h("i", { class: "space", data: { s: "·" } }, " "), piece] : [piece]));
  return h("code", { class: "regex" }, ...pieces);
}
