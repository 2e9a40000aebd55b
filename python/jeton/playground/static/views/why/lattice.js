// Lattice of one pretoken: every edge as a bar over the characters it covers, with its score; the Viterbi segmentation on
// top. A score is a log-probability, so the scores of a segmentation add up.

import { h, number, svg } from "../../dom.js";
import { counted } from "../../language.js";

const COLUMN = 76; // pixels per character, wide enough for a piece and its score
const ROW = 40;
const MOST_BARS = 300;

/**
 * @param {Object} facts  a pretoken of the response
 * @param {Object} names  id → [shown, hue, bytes]
 * @returns {HTMLElement}
 */
export function lattice({ lattice: { edges, num_edges, best, others }, shown }, names) {
  const used = new Set(best.edges.map(([start, end]) => `${start}-${end}`));
  const free = edges.filter(([start, end]) => !used.has(`${start}-${end}`)).sort((one, other) => other[1] - other[0] - (one[1] - one[0]) || one[0] - other[0]);
  const drawn = free.slice(0, MOST_BARS);
  const places = [...new Set([...best.edges, ...drawn].flatMap(([start, end]) => [start, end]))].sort((one, other) => one - other);
  const column = new Map(places.map((place, index) => [place, index]));
  const left = num_edges - best.edges.length - drawn.length;
  const picture = draw(best.edges, drawn, column, names, shown);
  return h(
    "div",
    {},
    h("p", {}, `The lattice has ${counted(num_edges, "edge")}, one for each vocabulary piece that matches a part of the text. The segmentation with the highest sum of scores (Viterbi) is on top.`),
    h("div", { class: "latticebox", tabindex: 0, role: "group", "aria-label": "The lattice" }, picture),
    left > 0 ? h("p", { class: "quiet" }, `${counted(left, "more edge")} not drawn.`) : null,
    ways(best, others, names),
  );
}

function draw(best, free, column, names, shown) {
  const rows = [best];
  for (const edge of free) {
    const row = rows.find((edges, index) => index > 0 && edges.every(([start, end]) => edge[1] <= start || end <= edge[0]));
    if (row) row.push(edge);
    else rows.push([edge]);
  }
  const width = (column.size - 1) * COLUMN + 2;
  const height = rows.length * ROW + 14;
  const picture = svg("svg", { class: "lattice", width, height, viewBox: `-1 0 ${width} ${height}`, role: "img", "aria-label": `Lattice of ${shown}; the table below has the best segmentations` });
  rows.forEach((edges, row) => {
    const y = row * ROW + (row > 0 ? 12 : 0);
    for (const [start, end, id, score] of edges) picture.append(bar(column.get(start) * COLUMN, y, (column.get(end) - column.get(start)) * COLUMN, id, score, names, row === 0));
  });
  return picture;
}

function bar(x, y, width, id, score, names, isBest) {
  const [shown, hue] = id === null ? ["unknown", 0] : names[id];
  const room = Math.floor((width - 10) / 8.2);
  const name = shown.length > room ? `${shown.slice(0, Math.max(room - 1, 1))}…` : shown;
  const middle = x + width / 2;
  return svg(
    "g",
    { class: `edge h${hue}${isBest ? " best" : ""}` },
    svg("title", {}, `${shown}, id ${id ?? "none"}, score ${score.toFixed(3)}`),
    svg("rect", { x: x + 1.5, y: y + 1, width: width - 3, height: ROW - 5, rx: 4 }),
    svg("text", { x: middle, y: y + 16 }, name),
    svg("text", { x: middle, y: y + 30, class: "score" }, score.toFixed(2)),
  );
}

/** Table of the best segmentations. */
function ways(best, others, names) {
  const name = ([, , id]) => (id === null ? "unknown" : names[id][0]);
  const row = ({ edges, score }, index) => {
    const some = edges.length > 40 ? [...edges.slice(0, 40).map(name), "…"] : edges.map(name);
    return h("tr", { class: index === 0 ? "chosen" : "" }, h("th", { scope: "row" }, h("code", {}, some.join(" | "))), h("td", {}, number(edges.length)), h("td", { class: "rank" }, score.toFixed(3)));
  };
  const head = h("tr", {}, ...["best segmentations", "pieces", "sum of scores"].map((name) => h("th", { scope: "col" }, name)));
  return h("table", { class: "ways" }, h("thead", {}, head), h("tbody", {}, row(best, 0), ...others.map((other, index) => row(other, index + 1))));
}
