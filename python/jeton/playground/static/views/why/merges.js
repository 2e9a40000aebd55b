// Merges of one pretoken, step by step: the current symbols, the pair that merges next, and the other candidates. The
// lowest rank merges first; among equal ranks the leftmost. Unused pieces are split again after the last merge.

import { direction } from "../../text_units.js";
import { h, number } from "../../dom.js";
import { counted } from "../../language.js";

/**
 * @param {Object} facts  a pretoken of the response
 * @param {Object} names  id → [shown, hue, bytes]
 * @param {(step: number) => void} onStep  the user has selected a step
 * @param {Object} app
 * @returns {{element: HTMLElement, go: (step: number) => void}}
 */
export function stepper(facts, names, onStep, app) {
  const { merges, splits = [] } = facts;
  const last = merges.length + splits.length;
  const states = replay(facts, names);
  const slider = h("input", { type: "range", min: 0, max: last, value: 0, "aria-label": "Step", on: { input: () => onStep(Number(slider.value)) } });
  const button = (label, sign, to) => h("button", { type: "button", "aria-label": label, on: { click: () => onStep(Math.min(Math.max(to(), 0), last)) } }, sign);
  let at = -1;
  const back = [button("First step", "⏮", () => 0), button("Step back", "‹", () => at - 1)];
  const forth = [button("Step forward", "›", () => at + 1), button("Last step", "⏭", () => last)];
  const place = h("p", { class: "place" });
  const line = h("div", { class: "symbols tokens", role: "img", dir: direction(facts.shown) });
  const verdict = h("p", { class: "verdict" });
  const table = h("div", { class: "rivals" });
  const done = h("ol", { class: "merges" });
  const controls = h("div", { class: "stepper", role: "group", "aria-label": "Steps" }, ...back, slider, ...forth, place);
  const whole = facts.whole ? h("p", { class: "quiet" }, "The whole pretoken is in the vocabulary, which this model looks up before merging; merging gives the same result.") : null;
  controls.hidden = last === 0; // no step to go to
  const element = h("div", {}, whole, controls, line, verdict, h("div", { class: "columns" }, h("div", {}, h("h3", {}, "Candidate pairs"), table), h("div", {}, h("h3", {}, "Merges applied"), done)));

  const go = (step) => {
    step = Math.min(Math.max(step, 0), last);
    if (step === at) return;
    at = step;
    slider.value = step;
    slider.setAttribute("aria-valuetext", `step ${step} of ${last}`);
    for (const one of back) one.disabled = step === 0;
    for (const one of forth) one.disabled = step === last;
    const [next, split] = [merges[step], splits[step - merges.length]];
    const symbols = states(step);
    const marked = next ? placeOf(next.position, next.left, symbols) : split ? placeOf(split.position, split.id, symbols) : -1;
    const isMarked = (index) => marked >= 0 && (index === marked || (Boolean(next) && index === marked + 1));
    place.textContent = `step ${number(step)} of ${number(last)}`;
    line.replaceChildren(...symbols.map((symbol, index) => chip(symbol.id, names, isMarked(index) ? " next" : "")));
    line.setAttribute("aria-label", symbols.map((symbol) => names[symbol.id][0]).join(" | "));
    verdict.replaceChildren(...(next ? words(next, names) : split ? apart(split, names) : ending(facts, symbols.length)));
    table.replaceChildren(next ? rivals(next, names) : h("p", { class: "quiet" }, "none"));
    done.replaceChildren(
      ...merges.slice(0, step).map((merge) => h("li", {}, ...pairOf(merge.left, merge.right, names), " → ", name(merge.result, names), h("span", { class: "quiet" }, ` rank ${number(merge.rank)}`))),
      ...splits.slice(0, Math.max(step - merges.length, 0)).map(({ id, left, right }) => h("li", {}, name(id, names), " → ", ...pairOf(left, right, names), h("span", { class: "quiet" }, " unused"))),
    );
    done.scrollTop = done.scrollHeight;
    app.say(`${place.textContent}: ${line.getAttribute("aria-label")}`);
  };
  return { element, go };
}

/** Returns a function from a step to its symbols: [{id, start, end}]. */
function replay(facts, names) {
  const lengths = facts.start_lengths ?? facts.start_ids.map((id) => names[id][2]);
  let start = 0;
  const first = facts.start_ids.map((id, index) => ({ id, start, end: (start += lengths[index]) }));
  let symbols = first;
  let at = 0;
  return (step) => {
    if (step < at) [symbols, at] = [first, 0];
    for (; at < step; at++) {
      const merge = facts.merges[at];
      if (merge) {
        const index = placeOf(merge.position, merge.left, symbols);
        symbols = symbols.toSpliced(index, 2, { id: merge.result, start: merge.position, end: symbols[index + 1].end });
      } else {
        const { position, middle, id, left, right } = facts.splits[at - facts.merges.length];
        const index = placeOf(position, id, symbols);
        symbols = symbols.toSpliced(index, 1, { id: left, start: position, end: middle }, { id: right, start: middle, end: symbols[index].end });
      }
    }
    return symbols;
  };
}

const placeOf = (start, id, symbols) => symbols.findIndex((symbol) => symbol.start === start && symbol.id === id);

function chip(id, names, classes = "") {
  const [shown, hue] = names[id];
  return h("span", { class: `t chip h${hue}${classes}`, title: `id ${id}` }, shown);
}

// Each name is isolated, so that "a + b → c" stays left-to-right.
const name = (id, names) => h("bdi", {}, h("code", {}, names[id][0]));
const pairOf = (left, right, names) => [name(left, names), " + ", name(right, names)];

function words(next, names) {
  const rank = h("strong", {}, `rank ${number(next.rank)}`);
  return ["Next: ", ...pairOf(next.left, next.right, names), " → ", name(next.result, names), ", id ", String(next.result), ", because its ", rank, next.num_rivals ? " is the lowest." : " is the only candidate."];
}

function apart({ id, left, right }, names) {
  return ["Then: ", name(id, names), " is re-segmented because unused: ", ...pairOf(left, right, names)];
}

function ending(facts, num_symbols) {
  const ids = facts.ids.length > 12 ? `${facts.ids.slice(0, 12).join(", ")}, …` : facts.ids.join(", ");
  const why = facts.merges.length || num_symbols > 1 ? "No mergeable pair left: done." : "One symbol: nothing to merge.";
  return [`${why} ${counted(facts.ids.length, "token")}: ${ids}`];
}

/** Table of the candidate pairs, best first; the bar is longer for a lower rank. */
function rivals(next, names) {
  const pairs = [[next.left, next.right, next.rank], ...next.rivals];
  const highest = Math.max(...pairs.map(([, , rank]) => Math.log2(rank + 2)));
  const row = ([left, right, rank], index) => {
    const bar = h("span", { class: "rankbar" });
    bar.style.setProperty("--part", 1.08 - Math.log2(rank + 2) / highest);
    return h("tr", { class: index === 0 ? "chosen" : "" }, h("th", { scope: "row" }, ...pairOf(left, right, names)), h("td", { class: "rank" }, number(rank)), h("td", { class: "barcell", "aria-hidden": "true" }, bar));
  };
  const head = h("tr", {}, h("th", { scope: "col" }, "pair"), h("th", { scope: "col" }, "rank"), h("td", { "aria-hidden": "true" }));
  const more = next.num_rivals - next.rivals.length;
  return h("div", {}, h("table", {}, h("thead", {}, head), h("tbody", {}, ...pairs.map(row))), more > 0 ? h("p", { class: "quiet" }, `${counted(more, "other mergeable position")}.`) : null);
}
