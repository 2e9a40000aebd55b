// WordPiece on one pretoken: greedy longest match from each position.

import { direction } from "../../text_units.js";
import { h } from "../../dom.js";
import { counted } from "../../language.js";

/**
 * @param {Object} facts  a pretoken of the response
 * @param {Object} names  id → [shown, hue, bytes]
 * @returns {HTMLElement}
 */
export function longest({ attempts: { found, stuck_at, is_too_long }, hex, ids }, names) {
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  const text = (start, end) => new TextDecoder().decode(bytes.subarray(start, end));
  const rows = found.map(([start, end, id]) => {
    const [shown, hue] = names[id];
    return h("tr", {}, h("td", { dir: direction(text(0)) }, h("code", {}, text(0, start)), h("span", { class: `t chip h${hue}` }, text(start, end)), h("code", { class: "rest" }, text(end))), h("td", {}, h("bdi", {}, h("code", {}, shown))), h("td", { class: "rank" }, String(id)));
  });
  const head = h("tr", {}, ...["longest match", "entry", "id"].map((name) => h("th", { scope: "col" }, name)));
  const end = is_too_long
    ? `The pretoken is longer than max_input_chars_per_word, so all of it is unknown: ids ${ids.join(", ")}.`
    : stuck_at === null
      ? `${counted(ids.length, "token")}: ${ids.join(", ")}`
      : `No entry is a prefix of ${text(stuck_at)}, so all of it is unknown: ids ${ids.join(", ")}.`;
  return h(
    "div",
    {},
    h("p", {}, "Greedy longest-match-first: at each position the longest matching entry is taken. Entries inside a word begin with the continuing-subword prefix."),
    h("table", { class: "longest tokens" }, h("thead", {}, head), h("tbody", {}, ...rows)),
    h("p", { class: "verdict" }, end),
  );
}
