// Why view: the steps from a text to its tokens, each with its reason. First the pretokens, each with the alternative of the
// pattern that matched it, in words; then one of them, step by step: merges with their candidate pairs, a lattice, or longest
// matches.

import { callOnText, captionName } from "../exports/calls.js";
import { direction, units } from "../text_units.js";
import { textOf } from "../textbox.js";
import { examples, onOtherTokenizers } from "../widgets.js";
import { failure, h, number } from "../dom.js";
import { counted, gap, message, say, sayNodes } from "../language.js";
import { alternativeWords } from "./why/alternatives.js";
import { lattice } from "./why/lattice.js";
import { longest } from "./why/longest.js";
import { stepper } from "./why/merges.js";

const EXAMPLES = [
  [message("a long word"), { example: "internationalization" }],
  [message("one pair twice"), { example: "banana" }],
  [message("camel case"), { example: "parseHTTPResponse" }],
  [message("numbers"), { example: "In 2026, 12345678 is 1,234.56% more." }],
  [message("Chinese"), { example: "今天的天气很好" }],
];

export function mount(root, app) {
  const ask = app.latest();
  const box = app.textBox({ rows: 2 });
  const cut = h("p", { class: "quiet", hidden: true });
  const splits = h("div", { class: "splits" });
  const made = h("div", { class: "origin" });
  const steps = h("div", { class: "steps" });
  const row = examples(app, Object.fromEntries(EXAMPLES.map(([name, changes]) => [say(name), changes])), { pretoken: undefined, step: undefined });
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
        answer = { ...found, tokenizer };
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
    cut.textContent = say("The first {characters} of {all} are explained, as a separate text.", { characters: counted(answer.explained_chars, "character"), all: number(answer.num_chars) });
    const several = answer.pretokens.map((pretoken, index) => {
      const classes = `split${pretoken.special ? " special" : ""}`;
      const spoken = say("{text}, {tokens}", { text: pretoken.shown, tokens: counted(pretoken.ids.length, "token") });
      return h("button", { type: "button", class: classes, "aria-label": spoken, on: { click: () => app.set({ pretoken: index || undefined, step: undefined }) } }, h("span", { translate: "no" }, pretoken.shown || "∅"), h("small", { "aria-hidden": "true" }, number(pretoken.ids.length)));
    });
    const title = h("h2", { id: "splits" }, several.length ? counted(several.length, "pretoken") : say("Nothing to explain: the text is empty"));
    const inside = several.length > 1 ? h("p", { class: "quiet" }, say("The text is first split into pretokens. Each becomes tokens on its own: select one to see why.")) : null;
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
    splits.replaceChildren(title, ...(inside ? [inside] : []), row);
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
    if (facts.special) return { element: h("p", {}, say("A special or added token, which is matched before the text is split.")) };
    if (facts.lattice) return { element: lattice(facts, answer) };
    if (facts.attempts) return { element: longest(facts, answer) };
    const [ids, tokens] = [facts.ids.join(", "), counted(facts.ids.length, "token")];
    if (!facts.by_merges) return { element: h("p", {}, say("This model has no steps to show. The result is {tokens}: {ids}", { tokens, ids })) };
    if (facts.merges.length || facts.start_ids.length > 1) return stepper(facts, answer, onStep, app);
    return { element: h("p", {}, say("One symbol: nothing to merge."), gap(), say("The result is {tokens}: {ids}", { tokens, ids })) };
  }

  function exported() {
    if (!answer) return null;
    const [tokenizer, special] = JSON.parse(asked);
    const name = captionName(tokenizer);
    const ids = answer.pretokens.flatMap((pretoken) => pretoken.ids);
    const text = askedText.slice(0, units(askedText, answer.explained_chars));
    return {
      elements: [splits, made, steps],
      file: "why",
      facts: [name, counted(answer.pretokens.length, "pretoken"), counted(ids.length, "token")],
      ids: [[name, ids]],
      data: () => ({ tokenizer: name, text, special, pattern: answer.pattern, pretokens: answer.pretokens }),
      ...callOnText(app, { tokenizer, text, method: "explain", words: ["explain"], special }),
      partial: answer.explained_chars < answer.num_chars ? ids.length : undefined,
    };
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
    exported,
  };
}

/** Displays in words why a pretoken is one; the source of the pattern is folded. */
function origin({ part, shown, special }, pattern) {
  if (!pattern.length || special) return [];
  const text = h("bdi", {}, h("code", {}, shown));
  const words = part === null ? null : alternativeWords(pattern[part]);
  const sentence = part === null
    ? sayNodes("{text} is one pretoken: text between two matches of the pattern.", { text })
    : words
      ? sayNodes("{text} is one pretoken: {words}.", { text, words })
      : sayNodes("{text} is one pretoken: a match of the pattern.", { text });
  const parts = pattern.map((source, index) => {
    const isIt = index === part;
    return h("li", { class: isIt ? "is" : "", "aria-current": isIt ? "true" : false }, ...(alternativeWords(source) ? [h("span", {}, alternativeWords(source)), h("br")] : []), regex(source));
  });
  const summary = part === null
    ? say("The pattern: {alternatives}", { alternatives: counted(pattern.length, "alternative") })
    : say("The pattern: alternative {number} of {all}, tried in this order", { number: number(part + 1), all: number(pattern.length) });
  return [h("p", { class: "sentence" }, ...sentence), h("details", {}, h("summary", {}, summary), h("ol", { class: "parts" }, ...parts))];
}

/** Displays a regex with visible spaces, which are significant. */
function regex(text) {
  const pieces = text.split(" ").flatMap((piece, index) => (index ? [h("i", { class: "space", data: { s: "·" } }, " "), piece] : [piece]));
  return h("code", { class: "regex" }, ...pieces);
}
