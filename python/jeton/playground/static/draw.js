// DOM renderer of `Drawing.to_json()`.
//
// Each distinct look is created once and cloned for each token. Tokens are grouped in blocks, whose layout the browser
// skips while they are off-screen (`content-visibility`); a block begins a line, so it ends at a line end if possible.
// The first blocks are filled synchronously, the others in time slices, so that the page stays responsive. Symbols for
// white space, controls and bytes are CSS content, so that copying yields the text itself.
//
// One token is current: Tab reaches only it (roving tabindex), arrow keys move from it, and all occurrences of its id are
// highlighted.
//
// A character that is split between tokens is drawn once: each of its tokens draws the slice that its bytes are of it.

import { h, number } from "./dom.js";
import { say } from "./language.js";
import { eastAsian, languageOf } from "./text_units.js";

const FIRST_BLOCKS = 60; // tokens of each block among the first AT_ONCE tokens: the first paint lays out a few blocks
const BLOCK = 240; // tokens of each later block; a block ends at the first line end after so many …
const LONGEST_BLOCK = 360; // … or here, if there is none
const AT_ONCE = 800; // tokens filled before the first paint, more than a screen displays
const SLICE_MS = 40; // duration of each later slice

// One class per hue, and one rule for all occurrences of a look: the Content-Security-Policy forbids style attributes.
const hues = new CSSStyleSheet();
hues.replaceSync(Array.from({ length: 360 }, (_, hue) => `.h${hue}{--h:${hue}}`).join(""));
const same = new CSSStyleSheet();
document.adoptedStyleSheets.push(hues, same);

let made = 0;
const rules = new Map(); // drawing → its rule

function markSame(root, rule) {
  for (const other of rules.keys()) if (!other.isConnected) rules.delete(other);
  rules.set(root, rule);
  same.replaceSync([...rules.values()].join(""));
}

/**
 * Draws tokens.
 *
 * @param {Object} drawing  result of `Drawing.to_json()`
 * @param {Object} options
 * @param {string} options.label  label for screen readers: "Tokens"
 * @param {"text"|"ids"|"bytes"} [options.as]  content of each token
 * @param {(index: number|null, how: "hover"|"keys"|"press") => void} [options.onToken]  a token is hovered (null: no
 *   longer), reached by keys, or pressed
 * @param {(index: number) => string} [options.mark]  classes of each token, such as "ring"
 * @param {number[]} [options.rows]  first tokens of the blocks, so that those of several drawings can be aligned;
 *   default: blocks of a size that is fast to lay out
 * @returns {HTMLElement} with `drawing`; `token(index)`, the element of a token; `look(index, {focus, scroll})`, which
 *   makes a token current (null: none); `rest()`, which clears the current token and focuses the token that Tab reaches;
 *   and `filled`, a promise that resolves when all tokens are in the document
 */
export function drawTokens(drawing, { label, as = "text", onToken, mark, rows } = {}) {
  const serial = String(++made);
  const root = h("div", { class: `tokens as-${as}`, role: "group", translate: "no", "aria-label": label, data: { drawing: serial } });
  const starts = rows ? [...rows, drawing.ids.length] : blockStarts(drawing);
  const blocks = starts.slice(0, -1).map((first, at) => {
    const block = h("div", { class: "block" });
    return Object.assign(block, { first, end: starts[at + 1], tokens: null });
  });
  const fill = blockFiller(drawing, as, mark);
  root.filled = fillAll(root, blocks, fill);

  const token = (index) => {
    const block = blocks[blockOf(starts, index)];
    return fill(block)[index - block.first];
  };
  const indexOf = (element) => {
    const block = element.closest(".block");
    return block.first + block.tokens.indexOf(element);
  };

  let current = null; // the current token
  let stop = 0; // the token that Tab reaches
  let resting = false;
  const hold = (index) => {
    const element = token(index);
    element.tabIndex = 0;
    element.setAttribute("role", "button");
    element.setAttribute("aria-label", spoken(drawing, index));
  };
  const release = (index) => {
    for (const name of ["tabindex", "role", "aria-label"]) token(index).removeAttribute(name);
  };

  root.drawing = drawing;
  root.token = token;
  root.look = (index, { focus = false, scroll = false } = {}) => {
    if (!drawing.ids.length) return;
    if (index !== current) {
      if (current !== null) token(current).classList.remove("current");
      current = index;
      if (index !== null) token(index).classList.add("current");
    }
    if (index !== null && index !== stop) { // removing tabindex would remove the focus
      release(stop);
      hold((stop = index));
    }
    markSame(root, index === null ? "" : `[data-drawing="${serial}"] .k${drawing.looks[index]}{--same:1}`);
    if (focus) token(stop).focus();
    else if (scroll && index !== null) scrollTo(root.parentElement, token(index));
  };

  root.rest = () => {
    resting = true;
    root.look(null, { focus: true });
    resting = false;
  };

  const found = (event) => {
    const element = event.target instanceof Element ? event.target.closest(".t") : null;
    return element && root.contains(element) ? indexOf(element) : null;
  };
  root.addEventListener("pointerover", (event) => { if (event.pointerType !== "touch") onToken?.(found(event), "hover"); });
  root.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") onToken?.(null, "hover"); });
  root.addEventListener("click", (event) => { const index = found(event); if (index !== null) onToken?.(index, "press"); });
  root.addEventListener("focusin", (event) => {
    const index = found(event);
    if (!resting && index !== null && index !== current && event.target.matches(":focus-visible")) onToken?.(index, "keys"); // not after a press
  });
  root.addEventListener("keydown", (event) => {
    const index = found(event);
    if (index === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") onToken?.(index, "press");
    else {
      const to = goal(event.key, index, drawing.ids.length, token);
      if (to === null) return;
      root.look(to, { focus: true });
      onToken?.(to, "keys");
    }
    event.preventDefault();
  });
  root.addEventListener("copy", copyText);
  if (drawing.ids.length) hold(0);
  return root;
}

// ── blocks ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns the index of each block's first token, and the number of tokens. */
function blockStarts({ looks, table, groups }) {
  const endsLine = table.map((look) => look.parts.length > 0 && look.parts.at(-1)[0] === "newline");
  const starts = [0];
  for (let index = FIRST_BLOCKS; index < looks.length; index++) {
    const size = index - starts.at(-1);
    if (size < (index < AT_ONCE ? FIRST_BLOCKS : BLOCK) || groups[index] === groups[index - 1]) continue;
    if (endsLine[looks[index - 1]] || size >= LONGEST_BLOCK) starts.push(index);
  }
  return [...starts, looks.length]; // at least one block, for uncovered text
}

function blockOf(starts, index) {
  let low = 0;
  for (let high = starts.length - 1; high - low > 1; ) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= index) low = middle;
    else high = middle;
  }
  return low;
}

/** Returns a function that fills a block on the first call, and returns the elements of its tokens. */
function blockFiller(drawing, as, mark) {
  const { looks, groups, table } = drawing;
  const last = looks.length;
  const languages = as === "text" ? lineLanguages(drawing) : () => null;
  const gaps = new Map(as === "text" ? drawing.dropped.map((gap) => [gap.before, gap.parts]) : []);
  // Templates by look, for tokens of their own and for each place in a group. Each is cloned unchanged: to add a class
  // to a clone takes longer than to clone it.
  const templates = ["", "gs", "gm", "ge"].map((place) => ({ place, made: new Map() }));

  const cloned = (index) => {
    const before = as === "text" && index > 0 && groups[index - 1] === groups[index];
    const after = as === "text" && index + 1 < last && groups[index + 1] === groups[index];
    const { place, made } = templates[before ? (after ? 2 : 3) : after ? 1 : 0];
    const look = looks[index];
    const lang = languages(index);
    const key = lang ? lang + look : look;
    let first = made.get(key);
    if (!first) made.set(key, (first = template(table[look], look, as, place, lang)));
    const element = first.cloneNode(true);
    if (before) continueSlice(element, table[look], drawing, index);
    return element;
  };
  const element = (index) => {
    const made = cloned(index);
    const classes = mark?.(index);
    if (classes) made.classList.add(...classes.split(" "));
    return made;
  };

  return (block) => {
    if (block.tokens) return block.tokens;
    block.tokens = [];
    const nodes = [];
    for (let index = block.first; index < block.end; index++) {
      if (gaps.has(index) && (index === 0 || index > block.first)) nodes.push(gap(gaps.get(index)));
      const made = element(index);
      block.tokens.push(made);
      nodes.push(made);
      if (as !== "text") nodes.push(" "); // also for what is copied
    }
    if (block.end > 0 && gaps.has(block.end)) nodes.push(gap(gaps.get(block.end))); // a line end, of this block
    block.append(...nodes);
    return block.tokens;
  };
}

/** Appends the blocks: the first ones synchronously, the others in slices, until the root is removed. */
async function fillAll(root, blocks, fill) {
  let at = 0;
  for (; at < blocks.length && blocks[at].first < AT_ONCE; at++) {
    fill(blocks[at]);
    root.append(blocks[at]);
  }
  if (at < blocks.length) await new Promise((go) => requestAnimationFrame(go)); // the first blocks are painted first
  while (at < blocks.length) {
    await new Promise((go) => setTimeout(go));
    if (!root.isConnected) return;
    const until = performance.now() + SLICE_MS;
    const slice = document.createDocumentFragment();
    for (; at < blocks.length && performance.now() < until; at++) {
      fill(blocks[at]);
      slice.append(blocks[at]);
    }
    root.append(slice);
  }
}

/**
 * Returns a function: index of a token → language of its Han characters, which is that of its line; null without any.
 * Only lines with such characters are looked at.
 */
function lineLanguages({ looks, table }) {
  const bits = table.map((look) => eastAsian(shownText(look.parts)));
  if (!bits.some(Boolean)) return () => null;
  const endsLine = table.map((look) => look.parts.some(([kind]) => kind === "newline"));
  const languages = new Array(looks.length);
  for (let start = 0; start < looks.length; ) {
    let all = 0;
    let end = start;
    do all |= bits[looks[end++]];
    while (end < looks.length && !endsLine[looks[end - 1]]);
    languages.fill(languageOf(all), start, end);
    start = end;
  }
  return (index) => (bits[looks[index]] ? languages[index] : null);
}

/** Creates the element of a look, which is cloned for each token; `place`: its class within a group, or "". */
function template(look, number, as, place, lang) {
  const side = place && look.parts.at(place === "gs" ? -1 : 0)[3]; // of its bytes of the shared character
  const classes = `t k${number} h${look.hue}${look.special ? " x" : isWord(look.parts) ? " word" : ""}${place && ` ${place}`}${side === "rtl" ? " rtl" : ""}`;
  const element = h("span", { class: classes, lang });
  const text = as === "ids" ? String(look.id) : as === "bytes" ? look.hex.replace(/..(?!$)/g, "$& ") || "∅" : null;
  element.append(...tokenNodes(text === null ? look : { ...look, parts: [["text", text, text]] }, slice));
  return element;
}

/** Tests for a space with text, short enough for a line. */
const isWord = (parts) => parts.length > 1 && parts.length < 4 && parts[0][0] === "space" && parts[1][0] !== "space" && shownText(parts).length < 32;

// ── slices of a character ──────────────────────────────────────────────────────────────────────────────────────────

let ruler = null;
const advances = new Map(); // character → its width in em

function advance(character) {
  if (!advances.has(character)) {
    ruler ??= Object.assign(document.createElement("canvas").getContext("2d"), { font: `100px ${getComputedStyle(document.body).getPropertyValue("--mono")}` });
    advances.set(character, ruler.measureText(character).width / 100);
  }
  return advances.get(character);
}

/**
 * Returns the slice that a token draws of a character; the styles are in `tokens.css`. Its tooltip has the bytes. The
 * character itself is copied with the token in which it begins.
 */
function slice([, shown, text, side, [character, first, end, size]]) {
  const box = h("span", { class: "of" });
  for (const [name, value] of [["--first", first], ["--end", end], ["--size", size]]) box.style.setProperty(name, value);
  const sign = h("i", { class: `slice ${side}${end < size ? " on" : ""}` }, box, text ? h("span", { class: "raw" }, text) : null);
  if (!first) fillSlice(sign, character, shown.slice(character.length + 2, -1), first, end, size);
  return sign;
}

/** Sets the character of a slice, whose element may be a clone. */
function fillSlice(sign, character, bytes, first, end, size) {
  const box = sign.firstChild;
  box.dataset.s = character;
  box.style.setProperty("--w", `${advance(character)}em`);
  const values = { bytes, first: first + 1, end, size, character };
  sign.title = end - first === 1 ? say("{bytes}: byte {end} of the {size} of {character}", values) : say("{bytes}: bytes {first} to {end} of the {size} of {character}", values);
}

/** Sets the character of a token's first slice, which began in a token before it. */
function continueSlice(element, { parts }, { looks, table }, index) {
  const [, shown, , , cut] = parts[0];
  if (!cut || !cut[1]) return;
  let at = index - 1;
  while (at > 0 && table[looks[at]].parts.at(-1)[4]?.[1] !== 0) at--;
  const character = table[looks[at]].parts.at(-1)[4]?.[0];
  if (character) fillSlice(element.querySelector(".slice"), character, shown.slice(1, -1), ...cut.slice(1));
}

const gap = (parts) => h("s", { class: "gap", title: say("not covered by any token") }, ...partNodes(parts));

/**
 * Returns the nodes of parts. The displayed form is an attribute that CSS renders; copied text that is not displayed is
 * in an element of zero size, where bidi controls have no effect on neighbors.
 *
 * @param {Array<[string, string, string, string?, Array?]>} parts  kind, displayed form, copied text, the direction, if it
 *   differs from that of the displayed form, and the split character that bytes belong to
 * @param {(part: Array) => Node} [cut]  renders bytes of a split character; default: in hexadecimal
 */
export function partNodes(parts, cut = null) {
  return parts.map((part) => {
    const [kind, shown, text, side] = part;
    if (shown === text) return document.createTextNode(text);
    if (cut && part[4]) return cut(part);
    // a symbol overlays the white space that it represents, if the text has it
    const isSpace = ["space", "tab", "newline"].includes(kind);
    const lies = isSpace && text !== "" && text.trim() === "";
    const sign = h("i", { class: [kind, isSpace && !lies ? "alone" : "", side ?? ""].filter(Boolean).join(" "), data: { s: shown } });
    if (lies) sign.append(text);
    else if (text) sign.append(h("span", { class: "raw" }, text));
    return sign;
  });
}

const isWhite = ([kind]) => kind === "space" || kind === "tab" || kind === "newline";

/**
 * Returns the nodes of a token. The spelling of a special token is in a pill, without the white space that it strips
 * (`Look.spelled`), so that no line end is inside a pill.
 */
export function tokenNodes({ special, parts }, cut = null) {
  if (!special) return partNodes(parts, cut);
  const first = parts.findIndex((part) => !isWhite(part));
  const end = parts.findLastIndex((part) => !isWhite(part)) + 1;
  if (first < 0) return [h("span", { class: "pill" }, ...partNodes(parts))];
  return [...partNodes(parts.slice(0, first)), h("span", { class: "pill" }, ...partNodes(parts.slice(first, end))), ...partNodes(parts.slice(end))];
}

/** Displayed form of parts as one string. */
export const shownText = (parts) => parts.map(([, shown]) => shown).join("");

// ── looking ────────────────────────────────────────────────────────────────────────────────────────────────────────

function spoken({ ids, looks, table }, index) {
  const look = table[looks[index]];
  const values = { shown: shownText(look.parts), number: number(index + 1), count: number(ids.length), id: look.id };
  return look.special ? say("{shown}, special token {number} of {count}, id {id}", values) : say("{shown}, token {number} of {count}, id {id}", values);
}

/** Scrolls a token into view within its box, without scrolling the page. */
function scrollTo(box, element) {
  const [outer, inner] = [box.getBoundingClientRect(), element.getBoundingClientRect()];
  if (inner.top < outer.top) box.scrollTop -= outer.top - inner.top + inner.height;
  else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom + inner.height;
}

/** Returns the target of a navigation key; null for other keys. */
function goal(key, index, length, token) {
  switch (key) {
    case "ArrowRight": return Math.min(index + 1, length - 1);
    case "ArrowLeft": return Math.max(index - 1, 0);
    case "Home": return 0;
    case "End": return length - 1;
    case "ArrowDown": return lineGoal(index, 1, length, token);
    case "ArrowUp": return lineGoal(index, -1, length, token);
    default: return null;
  }
}

/** Returns the token on the next or previous line whose center is nearest. */
function lineGoal(index, step, length, token) {
  const from = token(index).getBoundingClientRect();
  const middle = from.left + from.width / 2;
  let line = null;
  let best = index;
  let distance = Infinity;
  for (let to = index + step; to >= 0 && to < length; to += step) {
    const box = token(to).getBoundingClientRect();
    if (Math.abs(box.top - from.top) < from.height / 2) continue;
    line ??= box.top;
    if (Math.abs(box.top - line) > from.height / 2) break;
    const off = Math.abs(box.left + box.width / 2 - middle);
    if (off < distance) [best, distance] = [to, off];
  }
  return best;
}

/** Copies the text of a selection without the line ends that browsers add between blocks. */
function copyText(event) {
  const selection = getSelection();
  if (selection.isCollapsed) return;
  event.clipboardData.setData("text/plain", selection.getRangeAt(0).cloneContents().textContent);
  event.preventDefault();
}
