// WordPiece on one pretoken: greedy longest match from each position, with the number of longer candidates that failed.

import { direction } from "../../text_units.js";
import { h, number } from "../../dom.js";
import { counted, say, sayNodes } from "../../language.js";

/**
 * @param {Object} facts  a pretoken of the response
 * @param {Object} answer  the response
 * @returns {HTMLElement}
 */
export function longest({ attempts: { found, stuck_at, is_too_long }, hex, ids }, { names, continuing_prefix: prefix }) {
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  const text = (start, end) => new TextDecoder().decode(bytes.subarray(start, end));
  const rows = found.map(([start, end, id]) => {
    const [shown, hue] = names[id];
    return h(
      "tr",
      {},
      h("td", { dir: direction(text(0)) }, h("code", {}, text(0, start)), h("span", { class: `t chip h${hue}`, translate: "no" }, text(start, end)), h("code", { class: "rest" }, text(end))),
      h("td", {}, h("bdi", {}, h("code", {}, shown))),
      h("td", { class: "rank" }, String(id)),
      h("td", { class: "reason" }, reason([...text(end)].length)),
    );
  });
  const head = h("tr", {}, ...[say("longest match"), say("entry"), say("id"), say("reason")].map((name) => h("th", { scope: "col" }, name)));
  const code = (words) => h("bdi", {}, h("code", {}, words));
  const all = ids.join(", ");
  const end = is_too_long
    ? [say("The pretoken is longer than the model's limit (max_input_chars_per_word), so all of it is unknown: {ids}.", { ids: all })]
    : stuck_at === null
      ? [say("The result is {tokens}: {ids}", { tokens: counted(ids.length, "token"), ids: all })]
      : stuck_at > 0 && prefix
        ? sayNodes("No entry that continues a word, with {prefix}, is a beginning of {rest}, so the whole pretoken is unknown: {ids}.", { prefix: code(prefix), rest: code(text(stuck_at)), ids: all })
        : sayNodes("No entry is a beginning of {rest}, so the whole pretoken is unknown: {ids}.", { rest: code(text(stuck_at)), ids: all });
  const table = h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": say("longest match") }, h("table", { class: "longest tokens" }, h("thead", {}, head), h("tbody", {}, ...rows)));
  return h(
    "div",
    {},
    h("p", {}, prefix
      ? say("WordPiece takes the longest entry that matches, then goes on after it. After the first match, only entries with {prefix} count.", { prefix })
      : say("WordPiece takes the longest entry that matches, then goes on after it.")),
    rows.length ? table : null,
    h("p", { class: "verdict" }, ...end),
  );
}

/** Why a match is the longest: it is all that is left, or no longer beginning of the rest is an entry. */
function reason(more) {
  if (!more) return say("all that is left");
  if (more === 1) return say("the only longer candidate is not in the vocabulary");
  return say("none of the {number} longer candidates is in the vocabulary", { number: number(more) });
}
