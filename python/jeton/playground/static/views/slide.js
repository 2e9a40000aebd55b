// Movement of symbols when some of them merge: each slides from where it was to where it is, and a symbol that another
// one absorbed slides into that one. Nothing moves for those who prefer reduced motion.
//
// A symbol has a key that it keeps over the steps: where it begins in the text. Elements are inline, so they move by
// `left` and `top`, which need `position: relative`; what was absorbed is a copy in a layer over the box.

const DURATION_MS = 200;
const MOST = 400; // symbols; more would not move smoothly

/**
 * Remembers where symbols are.
 *
 * @param {HTMLElement} box  what contains them and the layer
 * @param {Map<number, HTMLElement>} elements  key → element, in ascending order of keys
 * @returns {Map<number, {left: number, top: number, element: HTMLElement}>} empty if nothing is to move
 */
export function positions(box, elements) {
  if (elements.size > MOST || matchMedia("(prefers-reduced-motion: reduce)").matches) return new Map();
  const origin = box.getBoundingClientRect();
  return new Map([...elements].map(([key, element]) => {
    const { left, top, right } = element.getBoundingClientRect();
    return [key, { left: left - origin.left, top: top - origin.top, right: right - origin.left, element }];
  }));
}

/**
 * Slides symbols from their former positions.
 *
 * @param {HTMLElement} box
 * @param {HTMLElement} layer  an element over the box, for copies
 * @param {Map} before  result of `positions` before the symbols were replaced
 * @param {Map<number, HTMLElement>} elements  the new ones
 */
export function slide(box, layer, before, elements) {
  layer.replaceChildren();
  if (!before.size) return;
  const after = positions(box, elements);
  if (!after.size) return;
  for (const [key, { left, top, element }] of after) {
    const from = before.get(key) ?? last(before, key);
    if (from && Math.abs(from.left - left) + Math.abs(from.top - top) > 0.5) {
      animate(element, { left: `${from.left - left}px`, top: `${from.top - top}px` }, { left: "0", top: "0" });
    }
  }
  for (const [key, from] of before) {
    const into = after.has(key) ? null : last(after, key);
    if (!into) continue;
    const copy = from.element.cloneNode(true);
    copy.removeAttribute("tabindex");
    copy.removeAttribute("role");
    copy.style.setProperty("left", `${from.left}px`);
    copy.style.setProperty("top", `${from.top}px`);
    layer.append(copy);
    const [x, y] = [into.right - (from.right - from.left) - from.left, into.top - from.top];
    animate(copy, { transform: "none", opacity: 1 }, { transform: `translate(${x}px, ${y}px)`, opacity: 0.4 }).addEventListener("finish", () => copy.remove());
  }
}

const animate = (element, from, to) => element.animate([from, to], { duration: DURATION_MS, easing: "ease-in-out" });

/** The last entry whose key is below another. */
function last(entries, limit) {
  let found = null;
  for (const [key, entry] of entries) if (key < limit) found = entry;
  return found;
}
