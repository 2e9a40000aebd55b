// Merges of one pretoken, step by step: the current symbols, the pair that merges next with the reason, and the other
// candidates. The merge that was learned first is applied first; of equal ones the leftmost. Unused pieces are split again
// after the last merge.
//
// A merge number is the position of a merge in the order of learning, from 1: the rank, counted from the first one.

import { captionName } from "../../exports/calls.js";
import { direction } from "../../text_units.js";
import { h, number } from "../../dom.js";
import { counted, gap, say, sayNodes } from "../../language.js";
import { positions, slide } from "../slide.js";

/**
 * @param {Object} facts  a pretoken of the response
 * @param {Object} answer  the response, with `names`: id → [shown, hue, bytes], and `tokenizer`, its key
 * @param {(step: number) => void} onStep  the user has selected a step
 * @param {Object} app
 * @returns {{element: HTMLElement, go: (step: number) => void}}
 */
export function stepper(facts, answer, onStep, app) {
  const { names, first_rank } = answer;
  const { merges, splits = [] } = facts;
  const last = merges.length + splits.length;
  const states = replay(facts, names);
  const mergeNumber = (rank) => number(rank - first_rank + 1);
  const slider = h("input", { type: "range", min: 0, max: last, value: 0, "aria-label": say("Step"), on: { input: () => onStep(Number(slider.value)) } });
  const button = (label, sign, to) => h("button", { type: "button", "aria-label": label, title: label, on: { click: () => onStep(Math.min(Math.max(to(), 0), last)) } }, sign);
  let at = -1;
  const back = [button(say("First step"), "|◀\ufe0e", () => 0), button(say("Step back"), "◀\ufe0e", () => at - 1)];
  const forth = [button(say("Step forward"), "▶\ufe0e", () => at + 1), button(say("Last step"), "▶\ufe0e|", () => last)];
  const place = h("p", { class: "place" });
  const line = h("div", { class: "symbols tokens", role: "img", dir: direction(facts.shown) });
  const layer = h("div", { class: "tokens layer", "aria-hidden": "true" });
  const box = h("div", { class: "symbolbox" }, line, layer);
  const verdict = h("p", { class: "verdict" });
  const table = h("div", { class: "rivals" });
  const done = h("ol", { class: "merges" });
  const none = h("p", { class: "quiet" }, say("none yet"));
  const controls = h("div", { class: "stepper", role: "group", "aria-label": say("Steps") }, ...back, slider, ...forth, place);
  const whole = facts.whole ? h("p", { class: "quiet" }, say("The whole pretoken is in the vocabulary, which this model looks up before merging; merging gives the same result.")) : null;
  controls.hidden = last === 0; // no step to go to
  const rivalsTitle = h("h3");
  const columns = h("div", { class: "columns" }, h("div", {}, rivalsTitle, table), h("div", {}, h("h3", {}, say("Merges so far")), none, done));
  columns.hidden = last === 0;
  const element = h("div", {}, whole, controls, box, verdict, columns);
  let drawn = new Map(); // start → element

  const go = (step) => {
    step = Math.min(Math.max(step, 0), last);
    if (step === at) return;
    const before = at < 0 ? new Map() : positions(box, drawn);
    at = step;
    slider.value = step;
    place.textContent = say("step {step} of {all}", { step: number(step), all: number(last) });
    slider.setAttribute("aria-valuetext", place.textContent);
    for (const one of back) one.disabled = step === 0;
    for (const one of forth) one.disabled = step === last;
    const [next, split] = [merges[step], splits[step - merges.length]];
    const symbols = states(step);
    const marked = next ? placeOf(next.position, next.left, symbols) : split ? placeOf(split.position, split.id, symbols) : -1;
    const isMarked = (index) => marked >= 0 && (index === marked || (Boolean(next) && index === marked + 1));
    const chips = symbols.map((symbol, index) => chip(symbol.id, names, isMarked(index) ? " next" : ""));
    drawn = new Map(symbols.map((symbol, index) => [symbol.start, chips[index]]));
    line.replaceChildren(...chips);
    line.setAttribute("aria-label", symbols.map((symbol) => names[symbol.id][0]).join(" | "));
    verdict.replaceChildren(...(next ? reasons(next, step, symbols, names, mergeNumber) : split ? apart(split, names) : ending(facts, symbols, answer)));
    rivalsTitle.hidden = !next;
    rivalsTitle.textContent = next ? say("Pairs that can merge here") : "";
    table.replaceChildren(...(next ? [rivals(next, names, first_rank)] : []));
    done.replaceChildren(
      ...merges.slice(0, step).map((merge) => h("li", {}, ...pairOf(merge.left, merge.right, names), " → ", name(merge.result, names), h("span", { class: "quiet" }, ` ${say("merge number {merge}", { merge: mergeNumber(merge.rank) })}`))),
      ...splits.slice(0, Math.max(step - merges.length, 0)).map(({ id, left, right }) => h("li", {}, name(id, names), " → ", ...pairOf(left, right, names), h("span", { class: "quiet" }, ` ${say("marked as unused")}`))),
    );
    none.hidden = step > 0;
    done.scrollTop = done.scrollHeight;
    slide(box, layer, before, drawn);
    app.say(`${place.textContent}: ${verdict.textContent}`);
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
  return h("span", { class: `t chip h${hue}${classes}`, translate: "no", title: say("id {id}", { id }) }, shown);
}

// Each name is isolated, so that "a + b → c" stays left-to-right.
const name = (id, names) => h("bdi", {}, h("code", {}, names[id][0]));
const pairOf = (left, right, names) => [name(left, names), " + ", name(right, names)];
const pairNode = (left, right, names) => h("span", { class: "pair" }, ...pairOf(left, right, names));

/** Why a pair merges at this step: sentences as nodes. */
function reasons(next, step, symbols, names, mergeNumber) {
  const pair = pairNode(next.left, next.right, names);
  const merge = mergeNumber(next.rank);
  const places = symbols.flatMap(({ id }, index) => (id === next.left && symbols[index + 1]?.id === next.right ? [index] : []));
  const count = number(next.num_rivals + 1);
  const words = [];
  if (!next.num_rivals) words.push(...sayNodes("{pair} merges: no other pair of neighbors can merge. Its merge number is {merge}.", { pair, merge }));
  else if (!next.rivals.length) words.push(...sayNodes("{pair} merges: it is the only pair of neighbors that can merge. Its merge number is {merge}.", { pair, merge }));
  else if (step === 0) words.push(...sayNodes("{pair} merges first: of the {count} pairs here that can merge, it was learned earliest. Its merge number is {merge}.", { pair, count, merge }));
  else words.push(...sayNodes("{pair} merges next: of the {count} pairs here that can merge, it was learned earliest. Its merge number is {merge}.", { pair, count, merge }));
  if (places.length > 1) {
    const times = counted(places.length, "time");
    const overlaps = places.some((place, index) => places[index + 1] === place + 1);
    words.push(gap(), overlaps
      ? say("The pair is here {times}, with overlaps: the leftmost merges first.", { times })
      : say("The pair is here {times}: the leftmost merges first.", { times }));
  }
  const equal = next.rivals.filter(([, , rank]) => rank === next.rank);
  for (const [left, right] of equal) words.push(gap(), ...sayNodes("{pair} has the same merge number: the leftmost merges first.", { pair: pairNode(left, right, names) }));
  return words;
}

function apart({ id, left, right }, names) {
  return sayNodes("{piece} is marked as unused in the vocabulary, so it is split again: {pair}.", { piece: name(id, names), pair: pairNode(left, right, names) });
}

function ending(facts, symbols, { byte_fallback, tokenizer }) {
  const ids = facts.ids.length > 12 ? `${facts.ids.slice(0, 12).join(", ")}, …` : facts.ids.join(", ");
  const tokens = counted(facts.ids.length, "token");
  const isSplit = facts.splits?.length > 0;
  const isFinal = isSplit || symbols.map(({ id }) => id).join() === facts.ids.join(); // no unknown characters
  const words = [facts.merges.length ? say("No neighbors can merge any more.") : unmerged(facts, symbols, tokenizer, isFinal), gap()];
  if (!isFinal) {
    words.push(byte_fallback
      ? say("A character that is not in the vocabulary becomes the tokens of its bytes (byte fallback).")
      : say("Neighboring characters that are not in the vocabulary become one unknown token."), gap());
  }
  words.push(say("The result is {tokens}: {ids}", { tokens, ids }));
  return words;
}

/** Why a pretoken has no merges. */
function unmerged(facts, symbols, key, isFinal) {
  if (symbols.length === 1) return say("One symbol: nothing to merge.");
  const tokenizer = captionName(key);
  const bytes = Uint8Array.from(facts.hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  const characters = bytes.filter((byte) => (byte & 0xc0) !== 0x80).length;
  if (isFinal && symbols.length === characters) return say("{tokenizer} has learned no merge of these neighbors, so each character is a token.", { tokenizer });
  if (isFinal && symbols.length === bytes.length) return say("{tokenizer} has learned no merge of these neighbors, so each byte is a token.", { tokenizer });
  return say("{tokenizer} has learned no merge of these neighbors.", { tokenizer });
}

/** Table of the candidate pairs, best first; the bar is longer for a lower merge number. */
function rivals(next, names, first_rank) {
  const pairs = [[next.left, next.right, next.rank], ...next.rivals].map(([left, right, rank]) => [left, right, rank - first_rank + 1]);
  const logs = pairs.map(([, , merge]) => Math.log2(merge));
  const [lowest, highest] = [Math.min(...logs), Math.max(...logs)];
  const row = ([left, right, merge], index) => {
    const bar = h("span", { class: "rankbar" });
    bar.style.setProperty("--part", highest > lowest ? 0.1 + (0.9 * (highest - Math.log2(merge))) / (highest - lowest) : 1);
    return h("tr", { class: index === 0 ? "chosen" : "" }, h("th", { scope: "row" }, ...pairOf(left, right, names)), h("td", { class: "rank" }, number(merge)), h("td", { class: "barcell", "aria-hidden": "true" }, bar));
  };
  const head = h("tr", {}, h("th", { scope: "col" }, say("pair")), h("th", { scope: "col", class: "rank" }, say("merge number")), h("td", { class: "axis", "aria-hidden": "true" }, say("longer: learned earlier")));
  const more = next.num_rivals - next.rivals.length;
  return h(
    "div",
    {},
    h("table", {}, h("thead", {}, head), h("tbody", {}, ...pairs.map(row))),
    more > 0 ? h("p", { class: "quiet" }, say("{positions}.", { positions: counted(more, "other mergeable position") })) : null,
    h("p", { class: "quiet" }, say("The merge number tells when training learned a merge; 1 is the first. Of the pairs here, the lowest number merges.")),
  );
}
