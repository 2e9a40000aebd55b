// Merge tree of a token: as bars over its bytes, each above its two children; and as a list, for screen readers.

import { h, number } from "./dom.js";

const MOST_COLUMNS = 64; // bytes; wider trees are only listed
const MOST_ROWS = 40; // merges that are listed

/**
 * @param {{nodes: Array<Object>, roots: Array<number>, note: string}} tree  as `Tree.to_json()` has it
 * @returns {Array<Node>}
 */
export function mergeTree({ nodes, roots, note }) {
  const merges = nodes.filter((node) => node.left !== null).sort((one, other) => one.rank - other.rank);
  const said = note ? [h("p", { class: "quiet note" }, note)] : [];
  if (!merges.length) return said;
  const width = Math.max(...nodes.map((node) => node.end));
  const summary = h("h3", {}, `Merge tree: ${number(merges.length)} merge${merges.length === 1 ? "" : "s"}`);
  return [summary, ...said, ...(width <= MOST_COLUMNS ? [bars(nodes, roots, width)] : []), list(nodes, merges)];
}

function bars(nodes, roots, width) {
  const rows = Array(nodes.length).fill(1);
  const picture = h("div", { class: "tree", "aria-hidden": "true" });
  picture.style.setProperty("--columns", width);
  for (let place = nodes.length - 1; place >= 0; place--) {
    const { left, right, start, end, hue, shown, rank } = nodes[place];
    if (left !== null) rows[left] = rows[right] = rows[place] + 1;
    const bar = h("span", { class: `bar h${hue}`, title: rank === null ? shown : `${shown}, rank ${number(rank)}` }, shown);
    bar.style.setProperty("grid-area", `${rows[place]} / ${start + 1} / auto / ${Math.max(end, start + 1) + 1}`);
    picture.append(bar);
  }
  return h("div", { class: "treebox" }, picture);
}

const name = (shown) => h("bdi", {}, h("code", {}, shown)); // isolated, so that "a + b → c" stays left-to-right

function list(nodes, merges) {
  const row = ({ left, right, shown, rank }) =>
    h("li", {}, name(nodes[left].shown), " + ", name(nodes[right].shown), " → ", name(shown), h("span", { class: "quiet" }, ` rank ${number(rank)}`));
  const rest = merges.length - MOST_ROWS;
  const items = merges.slice(0, MOST_ROWS).map(row);
  if (rest > 0) items.push(h("li", { class: "quiet" }, `and ${number(rest)} more`));
  return h("ol", { class: "merges" }, ...items);
}
