// Curve of bytes per token over the steps of a run, with labeled axes.

import { h, svg } from "../../dom.js";

const [WIDTH, HEIGHT] = [340, 190];
const [LEFT, RIGHT, TOP, BOTTOM] = [44, 12, 12, 40]; // margins of the plot

/**
 * @param {Object} options
 * @param {string} options.title
 * @param {number[]} options.values  bytes per token at each step
 * @param {Array<string>} options.ends  labels of the first and the last step
 * @param {string} options.axis  what the steps are
 * @param {string} options.words  the curve in a sentence
 * @returns {{element: HTMLElement, go: (step: number) => void}}
 */
export function curve({ title, values, ends, axis, words }) {
  const top = Math.max(...values) * 1.05;
  const x = (step) => LEFT + ((WIDTH - LEFT - RIGHT) * step) / Math.max(values.length - 1, 1);
  const y = (value) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * value) / top;
  const line = values.map((value, step) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const ticks = [...new Set([0, top > 2 ? Math.floor(top / 2) : 1, ...(top > 2 ? [Math.floor(top)] : [])])].filter((value) => value <= top);
  const mark = svg("circle", { r: 4.5, class: "dot" });
  const base = HEIGHT - BOTTOM;
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words },
    svg("line", { class: "axis", x1: LEFT, y1: base, x2: WIDTH - RIGHT, y2: base }),
    svg("line", { class: "axis", x1: LEFT, y1: TOP, x2: LEFT, y2: base }),
    ...ticks.flatMap((value) => [
      svg("line", { class: "axis", x1: LEFT - 4, y1: y(value), x2: LEFT, y2: y(value) }),
      svg("text", { class: "tick", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, value),
    ]),
    svg("text", { class: "tick", x: LEFT, y: base + 16, "text-anchor": "middle" }, ends[0]),
    ...(values.length > 1 ? [svg("text", { class: "tick", x: WIDTH - RIGHT, y: base + 16, "text-anchor": "end" }, ends[1])] : []),
    svg("text", { class: "tick name", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, axis),
    svg("polyline", { points: line, class: "line" }),
    mark,
  );
  const element = h("figure", { class: "curve" }, h("h3", {}, title), picture, h("figcaption", {}, words));
  const go = (step) => {
    mark.setAttribute("cx", x(step));
    mark.setAttribute("cy", y(values[step]));
  };
  return { element, go };
}
