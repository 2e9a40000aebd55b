// Lattice of one pretoken: every edge as a bar over the characters it covers, with its score; the Viterbi segmentation on
// top. A score is a log-probability, so the scores of a segmentation add up.

import { h, number, svg } from "../../dom.js";
import { counted, gap, say, sayNodes } from "../../language.js";

const COLUMN = 54; // pixels per character, wide enough for a piece and its score
const ROW = 40;
const MOST_BARS = 300;
const MOST_TIMES = 1_000; // beyond that, how much more probable the best segmentation is has no meaning to readers

/**
 * @param {Object} facts  a pretoken of the response
 * @param {Object} answer  the response, with `names`: id → [shown, hue, bytes]
 * @returns {HTMLElement}
 */
export function lattice({ lattice: { edges, num_edges, best, others }, shown, ids }, { names, byte_fallback }) {
  const used = new Set(best.edges.map(([start, end]) => `${start}-${end}`));
  const free = edges.filter(([start, end]) => !used.has(`${start}-${end}`)).sort((one, other) => other[1] - other[0] - (one[1] - one[0]) || one[0] - other[0]);
  const drawn = free.slice(0, MOST_BARS);
  const places = [...new Set([...best.edges, ...drawn].flatMap(([start, end]) => [start, end]))].sort((one, other) => one - other);
  const column = new Map(places.map((place, index) => [place, index]));
  const left = num_edges - best.edges.length - drawn.length;
  const picture = draw(best.edges, drawn, column, names, shown);
  const paragraph = (...sentences) => h("p", {}, ...sentences.flatMap((sentence, index) => (index ? [gap(), ...sentence] : sentence)));
  return h(
    "div",
    {},
    paragraph(...matches(edges, num_edges)),
    paragraph(reason(best, others, num_edges, names), ...fallback(best, ids, byte_fallback)),
    h("div", { class: "latticebox", tabindex: 0, role: "group", "aria-label": say("The lattice") }, picture),
    h("p", { class: "quiet" }, say("Each bar is a piece over the characters that it covers, with its score; the best segmentation is the top row.")),
    left > 0 ? h("p", { class: "quiet" }, say("{edges} not drawn.", { edges: counted(left, "more edge") })) : null,
    ways(best, others, names),
  );
}

/** What matches: pieces, and characters that none matches. */
function matches(edges, num_edges) {
  const unknown = edges.filter(([, , id]) => id === null).length;
  const sentences = [[say("Places where a piece of the vocabulary matches: {number}. A segmentation covers the pretoken with some of them; its score is the sum of theirs, which are logarithms of probabilities.", { number: number(num_edges - unknown) })]];
  if (unknown) sentences.push([say("Characters without a piece: {number}. Each is an unknown edge, which scores 10 less than the lowest piece.", { number: number(unknown) })]);
  return sentences;
}

/** Why the best segmentation is the best. */
function reason(best, others, num_edges, names) {
  const [way, score] = [segmentation(best, names), best.score.toFixed(2)];
  if (!others.length) {
    return num_edges === best.edges.length
      ? sayNodes("{way} is the only segmentation.", { way })
      : sayNodes("{way} has the highest sum, {score}.", { way, score });
  }
  const values = { way, score, other: segmentation(others[0], names), sum: others[0].score.toFixed(2) };
  const times = Math.exp(best.score - others[0].score);
  if (best.score === others[0].score) return sayNodes("{way} has the highest sum, {score}; {other} has the same sum. Of equal sums, the longer piece wins, seen from the end.", values);
  const isKnown = [...best.edges, ...others[0].edges].every(([, , id]) => id !== null);
  if (!isKnown || times > MOST_TIMES || times < 1.05) return sayNodes("{way} has the highest sum, {score}; the next best, {other}, has {sum}.", values);
  return sayNodes("{way} has the highest sum, {score}; the next best, {other}, has {sum}, which means {times} times less probable.", { ...values, times: times < 10 ? times.toFixed(1) : number(Math.round(times)) });
}

/** How unknown edges become tokens. */
function fallback(best, ids, byte_fallback) {
  const unknown = best.edges.filter(([, , id]) => id === null).length;
  if (!unknown) return [];
  const values = { pieces: counted(best.edges.length, "edge"), tokens: counted(ids.length, "token") };
  if (byte_fallback) return [[say("An unknown character becomes the tokens of its bytes (byte fallback): {pieces}, {tokens}.", values)]];
  if (ids.length < best.edges.length) return [[say("Unknown characters in a row are fused into one unknown token: {pieces}, {tokens}.", values)]];
  return [[say("An unknown character becomes the unknown token.")]];
}

const MOST_NAMES = 12; // of a segmentation in a sentence

const shownName = ([, , id], names) => (id === null ? say("unknown") : names[id][0]);

function segmentation({ edges }, names) {
  const some = edges.slice(0, MOST_NAMES).map((edge) => shownName(edge, names));
  return h("bdi", {}, h("code", {}, [...some, ...(edges.length > MOST_NAMES ? ["…"] : [])].join(" | ")));
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
  const label = say("Lattice of {text}; the table below has the best segmentations", { text: shown });
  const picture = svg("svg", { class: "lattice", translate: "no", width, height, viewBox: `-1 0 ${width} ${height}`, role: "img", "aria-label": label });
  rows.forEach((edges, row) => {
    const y = row * ROW + (row > 0 ? 12 : 0);
    for (const [start, end, id, score] of edges) picture.append(bar(column.get(start) * COLUMN, y, (column.get(end) - column.get(start)) * COLUMN, id, score, names, row === 0));
  });
  return picture;
}

function bar(x, y, width, id, score, names, isBest) {
  const [shown, hue] = id === null ? [say("unknown"), 0] : names[id];
  const room = Math.floor((width - 10) / 8.2);
  const name = shown.length > room ? `${shown.slice(0, Math.max(room - 1, 1))}…` : shown;
  const middle = x + width / 2;
  return svg(
    "g",
    { class: `edge h${hue}${isBest ? " best" : ""}` },
    svg("title", {}, id === null ? say("an unknown character, score {score}", { score: score.toFixed(3) }) : say("{piece}, id {id}, score {score}", { piece: shown, id, score: score.toFixed(3) })),
    svg("rect", { x: x + 1.5, y: y + 1, width: width - 3, height: ROW - 5, rx: 4 }),
    svg("text", { x: middle, y: y + 16 }, name),
    svg("text", { x: middle, y: y + 30, class: "score" }, score.toFixed(2)),
  );
}

/** Table of the best segmentations. */
function ways(best, others, names) {
  const row = ({ edges, score }, index) => {
    const some = [...edges.slice(0, 40).map((edge) => shownName(edge, names)), ...(edges.length > 40 ? ["…"] : [])];
    return h("tr", { class: index === 0 ? "chosen" : "" }, h("th", { scope: "row" }, h("code", {}, some.join(" | "))), h("td", { class: "figure" }, number(edges.length)), h("td", { class: "rank" }, score.toFixed(3)));
  };
  const head = h("tr", {}, ...[say("best segmentations"), say("edges"), say("sum of scores")].map((name, index) => h("th", { scope: "col", class: index ? "rank" : "" }, name)));
  return h("table", { class: "ways" }, h("thead", {}, head), h("tbody", {}, row(best, 0), ...others.map((other, index) => row(other, index + 1))));
}
