// A run of merges at one step: the reason, the text before and after the merge, the counts of pairs, the new tokens.

import { direction } from "../../text_units.js";
import { bar, chip, chips } from "../../widgets.js";
import { h, number } from "../../dom.js";
import { counted, gap, say } from "../../language.js";
import { shownText } from "../../draw.js";
import { positions, slide } from "../slide.js";
import { curve } from "./curve.js";
import { reason } from "./reasons.js";

const DRAWN = 1_000; // tokens of the text drawn at a step
const LISTED = 400; // new tokens listed

/**
 * @param {Object} app
 * @param {Object} run  the response
 * @param {string} text
 * @param {(step: number) => void} onStep  the user has selected a step
 * @returns {{element: HTMLElement, last: number, go: (step: number, quiet: boolean) => string}} `go` returns the step in
 *   words; `quiet`: it is not announced
 */
export function merges(app, run, text, onStep) {
  const look = (id) => run.table[String(id)];
  const name = (id) => shownText(look(id).parts);
  const last = run.steps.length;
  const headline = h("h2", { class: "headline" });
  const sentence = h("p", { class: "verdict" });
  const figures = h("dl", { class: "figures", "aria-label": say("The text at this step") });
  const dir = direction(text); // at every step, also while letters are split into bytes
  const [before, after] = [h("div", { class: "pane", dir }), h("div", { class: "pane", dir })];
  const layer = h("div", { class: "tokens layer", "aria-hidden": "true" });
  const box = h("div", { class: "symbolbox" }, after, layer);
  const [beforeTitle, afterTitle, barsTitle, madeTitle] = [h("h3"), h("h3", {}, say("After")), h("h3"), h("h3")];
  const result = h("div", {}, afterTitle, box);
  const bars = h("table", { class: "bars" });
  const made = h("ol", { class: "made tokens", "aria-label": say("New tokens") });
  const values = [run.corpus_bytes / run.corpus_tokens, ...run.steps.map((step) => step.bytes_per_token)];
  const plot = curve({
    title: say("Bytes per token"),
    values,
    ends: ["0", number(last)],
    axis: say("number of merges"),
    words: say("Bytes per token rise from {low} to {high} in {merges}.", { low: values[0].toFixed(2), high: values.at(-1).toFixed(2), merges: counted(last, "merge") }),
  });
  const element = h(
    "div",
    { class: "run" },
    headline,
    sentence,
    figures,
    h("section", { class: "text" }, h("div", {}, beforeTitle, before), result),
    h("div", { class: "columns" }, h("section", {}, barsTitle, bars), h("section", {}, madeTitle, made), plot.element),
  );
  let at = -1;
  let drawn = new Map(); // first symbol → element, of the text after the merge

  function go(to, quiet) {
    const moved = at < 0 ? new Map() : positions(box, drawn);
    at = to;
    const step = at ? run.steps[at - 1] : null;
    drawHead(step);
    beforeTitle.textContent = step ? say("Before, with the pair marked") : say("The text as initial symbols");
    before.replaceChildren(sequence(step ? at - 1 : 0, "pair", say("The text before this merge")).element);
    result.hidden = box.hidden = !step;
    drawn = new Map();
    if (step) {
      const { element: tokens, keys } = sequence(at, "new", say("The text after this merge"));
      after.replaceChildren(tokens);
      drawn = keys;
      slide(box, layer, moved, drawn);
    } else after.replaceChildren();
    drawBars();
    drawMade();
    plot.go(at);
    const words = step ? say("step {step} of {all}", { step: number(at), all: number(last) }) + `: ${name(step.left)} + ${name(step.right)}` : headline.textContent;
    if (!quiet) app.say(step ? `${headline.querySelector(".count").textContent}: ${sentence.textContent}` : headline.textContent);
    return words;
  }

  function drawHead(step) {
    if (step) {
      headline.replaceChildren(
        h("span", { class: "count" }, say("Merge number {step} of {all}", { step: number(at), all: number(last) })),
        h("span", { class: "tokens" }, chip(look(step.left)), h("span", { class: "sign" }, " + "), chip(look(step.right)), h("span", { class: "sign" }, " → "), chip(look(step.id))),
        h("span", { class: "note" }, say("id {id}", { id: step.id })),
      );
      sentence.replaceChildren(...reason(run, step, name));
    } else {
      headline.replaceChildren(h("span", { class: "count" }, last ? say("Before the first of {merges}", { merges: counted(last, "merge") }) : say("No merges: no pair is left, or the vocabulary is full")));
      sentence.replaceChildren(last ? say("Step forward, or press Play.") : "");
    }
    if (run.stopped && at === last && last) sentence.append(gap(), say("Then no pair is left, so training stops early."));
    const tokens = step ? step.corpus_tokens : run.corpus_tokens;
    const rows = [[say("tokens"), number(tokens)], [say("bytes per token"), (run.corpus_bytes / tokens).toFixed(3)], [say("vocabulary"), number(run.alphabet_size + run.num_special + at)]];
    figures.replaceChildren(...rows.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value))));
  }

  /**
   * Draws the text after some merges, with the pair or the result of this step's merge marked. Returns the element, and the
   * tokens by their first symbols.
   */
  function sequence(count, marking, label) {
    const wanted = at - 1; // rank of this step's merge
    const [ids, classes, starts, times] = [[], [], [], []];
    let first = null; // the first marked token
    let symbol = 0; // symbols before
    for (const { ids: symbols, joined, count: occurrences } of run.sequences) {
      let top = -1; // highest rank inside the token
      let begins = true;
      let right = false;
      let start = symbol;
      symbols.forEach((id, index) => {
        const rank = joined[index] ?? null;
        if (rank !== null && rank < count) {
          top = Math.max(top, rank);
          return;
        }
        const left = rank === wanted;
        const marked = marking === "pair" ? left || right : top === wanted;
        if (marked) first ??= ids.length;
        if (occurrences > 1 && index === symbols.length - 1) times.push([ids.length, occurrences]);
        ids.push(top < 0 ? id : run.steps[top].id);
        starts.push(start);
        classes.push([begins ? "begins" : "", marked && wanted >= 0 ? (marking === "new" ? "new" : left ? "left" : "right") : ""].filter(Boolean).join(" "));
        [top, begins, right, start] = [-1, false, marking === "pair" && left, symbol + index + 1];
      });
      symbol += symbols.length;
    }
    const from = first !== null && first >= DRAWN - 50 ? first - 50 : 0;
    const shown = ids.slice(from, from + DRAWN);
    const tokens = app.draw(drawingOf(shown), { label, mark: (index) => classes[from + index] });
    for (const [index, occurrences] of times) {
      if (index >= from && index < from + shown.length) tokens.token(index - from).after(h("small", { class: "times" }, `×${number(occurrences)}`));
    }
    const keys = new Map(shown.map((_, index) => [starts[from + index], tokens.token(index)]));
    if (ids.length <= DRAWN) return { element: tokens, keys };
    const note = h("p", { class: "hint" }, say("Tokens {from} to {to} of {all} are drawn.", { from: number(from + 1), to: number(from + shown.length), all: number(ids.length) }));
    return { element: h("div", {}, tokens, note), keys };
  }

  /** Converts ids to a drawing, with each token's look in isolation. */
  function drawingOf(ids) {
    const table = [];
    const places = new Map();
    const looks = ids.map((id) => {
      if (!places.has(id)) places.set(id, table.push(look(id)) - 1);
      return places.get(id);
    });
    return { ids, looks, table, groups: ids.map((_, index) => index), dropped: [] };
  }

  function drawBars() {
    const step = run.steps[Math.max(at - 1, 0)];
    barsTitle.textContent = at ? say("Most frequent pairs before this merge") : say("Most frequent pairs");
    if (!step) return bars.replaceChildren();
    const [longest] = step.pairs.map(([, , times]) => times);
    const row = ([left, right, times]) => {
      const chosen = left === step.left && right === step.right;
      const words = `${name(left)} + ${name(right)}`;
      return h(
        "tr",
        { class: chosen ? "chosen" : null },
        h("th", { scope: "row" }, h("span", { class: "unseen" }, chosen && at ? say("{pair}, merged", { pair: words }) : words), h("span", { "aria-hidden": "true" }, chips([look(left), look(right)], " "))),
        h("td", { class: "space" }, bar(times / longest, chosen ? "chosen" : "")),
        h("td", { class: "figure" }, number(times)),
      );
    };
    const head = h("thead", {}, h("tr", {}, h("th", { scope: "col" }, say("pair")), h("th", { scope: "col", colspan: 2, class: "figure" }, say("occurrences"))));
    const rest = step.num_pairs - step.pairs.length;
    const foot = rest > 0 ? [h("tfoot", {}, h("tr", {}, h("td", { colspan: 3 }, say("and {pairs}", { pairs: counted(rest, "other pair") }))))] : [];
    bars.replaceChildren(head, h("tbody", {}, ...step.pairs.map(row)), ...foot);
  }

  function drawMade() {
    const values = { alphabet: number(run.alphabet_size), special: number(run.num_special), tokens: counted(at, "new token") };
    madeTitle.textContent = run.num_special
      ? say("The vocabulary: {alphabet} characters, {special} special tokens and {tokens}", values)
      : run.level === "byte"
        ? say("The vocabulary: {alphabet} bytes and {tokens}", values)
        : say("The vocabulary: {alphabet} characters and {tokens}", values);
    const from = Math.max(at - LISTED, 0);
    const items = run.steps.slice(from, at).map(({ id }, index) => {
      const label = say("{token}, id {id}: go to its merge", { token: name(id), id });
      const button = h("button", { type: "button", "aria-label": label, on: { click: () => onStep(from + index + 1) } }, chip(look(id)), h("span", { class: "id" }, String(from + index + 1)));
      return h("li", { class: from + index + 1 === at ? "latest" : null }, button);
    });
    made.start = from + 1;
    const hadFocus = made.contains(document.activeElement);
    made.replaceChildren(...items.reverse());
    if (hadFocus) made.querySelector(".latest button")?.focus();
  }

  return { element, last, go };
}
