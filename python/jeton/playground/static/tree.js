// Merge tree of a token: as bars over its bytes, each above its two children; and as a list, for screen readers.

import { h, number } from "./dom.js";
import { counted, say } from "./language.js";

const MOST_COLUMNS = 64; // bytes; wider trees are only listed
// Bytes after the split character that they begin, as in ⟨猫 e7⟩: the tree shows ⟨e7⟩
const CUT = /⟨(?:⟨U\+[0-9A-F]+⟩|[^\x00-\x7f⟨]\S*?) ([0-9a-f]{2}(?: [0-9a-f]{2})*)⟩/gu;
const MOST_ROWS = 40; // merges that are listed

/**
 * @param {{nodes: Array<Object>, roots: Array<number>, note: string}} tree  as `Tree.to_json()` has it
 * @param {number} first_rank  rank of the merge with number 1
 * @returns {Array<Node>}
 */
export function mergeTree({ nodes: given, roots, note }, first_rank) {
  const nodes = given.map((node) => ({ ...node, shown: node.shown.replaceAll(CUT, "⟨$1⟩") }));
  const merges = nodes.filter((node) => node.left !== null).sort((one, other) => one.rank - other.rank);
  const said = note ? [h("p", { class: "quiet note" }, note)] : [];
  if (!merges.length) return said;
  const width = Math.max(...nodes.map((node) => node.end));
  const mergeNumber = (rank) => say("merge number {merge}", { merge: number(rank - first_rank + 1) });
  const summary = h("h3", {}, say("Merge tree: {merges}", { merges: counted(merges.length, "merge") }));
  return [summary, ...said, ...(width <= MOST_COLUMNS ? [bars(nodes, roots, width, mergeNumber)] : []), list(nodes, merges, mergeNumber)];
}

function bars(nodes, roots, width, mergeNumber) {
  const rows = Array(nodes.length).fill(1);
  const picture = h("div", { class: "tree", translate: "no", "aria-hidden": "true" });
  picture.style.setProperty("--columns", width);
  for (let place = nodes.length - 1; place >= 0; place--) {
    const { left, right, start, end, hue, shown, rank } = nodes[place];
    if (left !== null) rows[left] = rows[right] = rows[place] + 1;
    const bar = h("span", { class: `bar h${hue}`, title: rank === null ? shown : `${shown}${say(", ")}${mergeNumber(rank)}` }, shown);
    bar.style.setProperty("grid-area", `${rows[place]} / ${start + 1} / auto / ${Math.max(end, start + 1) + 1}`);
    picture.append(bar);
  }
  return h("div", { class: "treebox" }, picture);
}

const name = (shown) => h("bdi", {}, h("code", {}, shown)); // isolated, so that "a + b → c" stays left-to-right

function list(nodes, merges, mergeNumber) {
  const row = ({ left, right, shown, rank }) =>
    h("li", {}, name(nodes[left].shown), " + ", name(nodes[right].shown), " → ", name(shown), h("span", { class: "quiet" }, ` ${mergeNumber(rank)}`));
  const rest = merges.length - MOST_ROWS;
  const items = merges.slice(0, MOST_ROWS).map(row);
  if (rest > 0) items.push(h("li", { class: "quiet" }, say("and {number} more", { number: number(rest) })));
  return h("ol", { class: "merges" }, ...items);
}
