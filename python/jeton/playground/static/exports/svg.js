// A copy of a view as SVG: the browser lays it out, and each box and each run of text becomes an element at its place.
//
// The picture has no style sheet, no script and no reference. Its colors are hexadecimal, because programs other than
// browsers do not read `light-dark()` and `hsl()`. A run of text is centered at its place, with its width, so that with
// another font it stays inside its box.
//
// Left out: gradients, except that of tokens; shadows, except lines of one color; and clipping, except of the slices of
// a character.

import { h } from "../dom.js";

const MARKS = /[\u200b\u200e\u200f\u2060\u2066-\u2069]/g; // which order and break text; invisible
const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g; // in XML
const MARGIN = 16; // pixels around
// Properties of a chart's elements that become attributes
const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity", "fill-opacity", "stroke-opacity"];
const WRITTEN = ["font-size", "font-weight", "font-style", "font-family", "text-anchor", "dominant-baseline"];

/**
 * @param {HTMLElement} root  of `still`
 * @param {string} title  for screen readers
 * @returns {string}
 */
export function toSvg(root, title) {
  root.classList.add("flat");
  root.inert = true;
  colors.clear();
  document.body.append(root);
  try {
    realSigns(root);
    root.classList.add("signed");
    return draw(root, title);
  } finally {
    root.remove();
  }
}

/** Replaces generated text by elements with the same look: its place can be measured only then. */
function realSigns(root) {
  const found = [];
  for (const element of root.querySelectorAll("*")) {
    if (element.matches(".slice > .of")) continue; // a slice, which `slice` draws
    for (const which of ["::before", "::after"]) {
      const style = getComputedStyle(element, which);
      const text = generated(element, style.content);
      if (!text) continue;
      const { fontSize, opacity, position, color, whiteSpace, fontWeight } = style;
      found.push([element, which, text, { fontSize, opacity, position, color, whiteSpace, fontWeight }]);
    }
  }
  for (const [element, which, text, look] of found) {
    const sign = h("span", { class: "sign" }, text);
    Object.assign(sign.style, look);
    if (which === "::before") element.prepend(sign);
    else element.append(sign);
  }
}

/** The text of a computed `content`: strings and attributes. */
function generated(element, content) {
  const parts = [...content.matchAll(/"((?:[^"\\]|\\.)*)"|attr\(([\w-]+)\)/gs)];
  return parts.map(([, string, name]) => (name ? element.getAttribute(name) ?? "" : string.replace(/\\(.)/gs, "$1"))).join("");
}

function draw(root, title) {
  const origin = root.getBoundingClientRect();
  const width = Math.ceil(origin.width) + 2 * MARGIN;
  const height = Math.ceil(origin.height) + 2 * MARGIN;
  const canvas = new Canvas(MARGIN - origin.left, MARGIN - origin.top);
  walk(root, canvas, 1);
  const ground = hex(getComputedStyle(root).backgroundColor) ?? "#ffffff";
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" xml:space="preserve"><title>${escape(title)}</title><rect width="100%" height="100%" fill="${ground}"/>${canvas.finish()}</svg>\n`;
}

/** The elements of the picture, in the order in which they are painted. */
class Canvas {
  #parts = [];
  #font = null; // attributes of the open group of texts
  #clips = 0;

  constructor(left, top) {
    Object.assign(this, { left, top });
  }

  add(markup) {
    this.#parts.push(markup);
  }

  rect({ left, top, width, height }, attributes) {
    if (width <= 0 || height <= 0) return;
    this.#close();
    this.add(`<rect x="${round(left + this.left)}" y="${round(top + this.top)}" width="${round(width)}" height="${round(height)}"${attributes}/>`);
  }

  /** A text whose box is `rect`; `clip` is the visible part. */
  text(string, rect, style, opacity, { clip = null, isRtl = RTL.test(string) } = {}) {
    const shown = string.replace(MARKS, "").replace(FORBIDDEN, "\ufffd");
    const fill = hex(style.color);
    if (!shown.trim() || !fill) return;
    const font = ` font-family="${escape(family(style.fontFamily))}" font-size="${round(parseFloat(style.fontSize))}"${Number(style.fontWeight) >= 550 ? ' font-weight="bold"' : ""}${style.fontStyle === "italic" ? ' font-style="italic"' : ""}${parseFloat(style.letterSpacing) ? ` letter-spacing="${round(parseFloat(style.letterSpacing))}"` : ""} text-anchor="middle"`;
    if (font !== this.#font) {
      this.#close();
      this.add(`<g${font}>`);
      this.#font = font;
    }
    let clipped = "";
    if (clip) {
      const id = `c${++this.#clips}`;
      this.add(`<clipPath id="${id}"><rect x="${round(clip.left + this.left)}" y="${round(clip.top + this.top)}" width="${round(clip.width)}" height="${round(clip.height)}"/></clipPath>`);
      clipped = ` clip-path="url(#${id})"`;
    }
    const x = round(rect.left + rect.width / 2 + this.left);
    const y = round(rect.top + ascent(style, rect.height) + this.top);
    const length = rect.width > 0 && [...shown].length > 1 ? ` textLength="${round(rect.width)}" lengthAdjust="spacingAndGlyphs"` : "";
    const way = isRtl ? ' direction="rtl"' : "";
    this.add(`<text x="${x}" y="${y}"${length}${way} fill="${fill}"${opacity < 1 ? ` opacity="${round(opacity)}"` : ""}${clipped}>${escape(shown)}</text>`);
  }

  #close() {
    if (this.#font !== null) this.add("</g>");
    this.#font = null;
  }

  /** A chart of the page. */
  chart(element, { left, top, width, height }) {
    this.#close();
    const made = inlined(element);
    for (const [name, value] of Object.entries({ x: round(left + this.left), y: round(top + this.top), width: round(width), height: round(height) })) made.setAttribute(name, value);
    this.add(new XMLSerializer().serializeToString(made));
  }

  finish() {
    this.#close();
    return this.#parts.join("");
  }
}

function walk(element, canvas, opacity) {
  const style = getComputedStyle(element);
  if (style.display === "none" || style.visibility === "hidden" || element.matches(".unseen")) return;
  opacity *= Number(style.opacity);
  if (element.localName === "svg") return canvas.chart(element, element.getBoundingClientRect());
  boxes(element, style, canvas);
  if (style.display === "list-item") marker(element, style, canvas, opacity);
  if (element.matches(".slice > .of")) return slice(element, style, canvas, opacity);
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) text(child, style, canvas, opacity);
    else if (child.nodeType === Node.ELEMENT_NODE) walk(child, canvas, opacity);
  }
}

// ── boxes ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Draws background, borders, outline and rings of an element, on each of its lines. */
function boxes(element, style, canvas) {
  const fill = hex(style.backgroundColor);
  const borders = ["Top", "Right", "Bottom", "Left"].map((side) => ({ side, width: style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]), color: hex(style[`border${side}Color`]) }));
  const drawn = borders.filter(({ width, color }) => width && color);
  const outline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) ? hex(style.outlineColor) : null;
  const rings = [...style.boxShadow.matchAll(/(\S+\(.*?\)|#\w+) (-?[\d.]+)px (-?[\d.]+)px ([\d.]+)px (-?[\d.]+)px inset/g)];
  const underline = style.textDecorationLine.includes("underline") ? hex(style.textDecorationColor) : null;
  if (!fill && !drawn.length && !outline && !rings.length && !underline) return;
  const corner = Math.min(...["TopLeft", "TopRight", "BottomLeft", "BottomRight"].map((name) => parseFloat(style[`border${name}Radius`])));
  const isToken = element.matches(".t");
  for (const rect of element.getClientRects()) {
    const box = isToken ? gapped(rect, style) : rect;
    const radius = corner ? ` rx="${round(Math.min(corner, box.height / 2))}"` : "";
    if (fill) canvas.rect(box, ` fill="${fill}"${radius}`);
    if (drawn.length === 4 && drawn.every((one) => one.color === drawn[0].color && one.width === drawn[0].width)) {
      const { width, color } = drawn[0];
      const dashes = style.borderTopStyle === "dashed" ? ` stroke-dasharray="${3 * width}"` : "";
      canvas.rect(inset(box, width / 2), ` fill="none" stroke="${color}" stroke-width="${round(width)}"${radius}${dashes}`);
    } else for (const { side, width, color } of drawn) canvas.rect(edge(box, side, width), ` fill="${color}"`);
    if (outline) {
      const width = parseFloat(style.outlineWidth);
      canvas.rect(inset(box, -parseFloat(style.outlineOffset) - width / 2), ` fill="none" stroke="${outline}" stroke-width="${round(width)}"${radius}`);
    }
    if (underline) canvas.rect({ left: box.left, top: box.top + 0.85 * box.height, width: box.width, height: 1.5 }, ` fill="${underline}"`);
    for (const [, color, x, y, , spread] of rings) {
      const ink = ` fill="${hex(color)}"`;
      if (Number(spread)) canvas.rect(inset(box, spread / 2), ` fill="none" stroke="${hex(color)}" stroke-width="${spread}"${radius}`);
      else if (Number(y)) canvas.rect(edge(box, y > 0 ? "Top" : "Bottom", Math.abs(y)), ink);
      else if (Number(x)) canvas.rect(edge(box, x > 0 ? "Left" : "Right", Math.abs(x)), ink);
    }
  }
}

/** The box of a token without the gaps, which are part of its background. */
function gapped({ left, top, width, height }, style) {
  const gap = (name) => parseFloat(style.getPropertyValue(name) || "1");
  const [before, after] = [gap("--before"), gap("--after")];
  const isReversed = style.getPropertyValue("--way").trim() === "-90deg";
  return { left: left + (isReversed ? after : before), top, width: width - before - after, height };
}

const inset = ({ left, top, width, height }, by) => ({ left: left + by, top: top + by, width: width - 2 * by, height: height - 2 * by });

function edge({ left, top, width, height }, side, size) {
  if (side === "Top") return { left, top, width, height: size };
  if (side === "Bottom") return { left, top: top + height - size, width, height: size };
  return { left: side === "Left" ? left : left + width - size, top, width: size, height };
}

// ── text ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });

function text(node, style, canvas, opacity) {
  if (!node.data.trim() || !parseFloat(style.fontSize)) return;
  for (const [start, end] of runs(node)) {
    const all = node.data.slice(start, end);
    const first = start + all.length - all.trimStart().length;
    const last = start + all.trimEnd().length;
    if (first >= last) continue;
    const words = node.data.slice(first, last);
    const rect = rectOf(node, first, last);
    const isRtl = RTL.test(words) || (/^[^\p{L}\p{N}]+$/u.test(words) && /[<>()[\]{}«»‹›]/.test(words) && isMirrored(node, rect));
    canvas.text(/pre|break-spaces/.test(style.whiteSpace) ? words : words.replace(/\s+/g, " "), rect, style, opacity, { isRtl });
  }
}

/** Tests whether brackets, which have no direction, are in a right-to-left run, where they are mirrored: by the neighbor. */
function isMirrored(node, rect) {
  const beside = (step) => {
    const walker = document.createTreeWalker(node.parentElement.closest(".block, p, td, li, div") ?? document.body, NodeFilter.SHOW_TEXT);
    walker.currentNode = node;
    for (let other = walker[step](); other; other = walker[step]()) {
      const [box] = rectsOf(other, 0, other.data.length);
      if (box?.width) return Math.abs(box.top - rect.top) < rect.height / 2 ? box : null;
    }
    return null;
  };
  const [next, previous] = [beside("nextNode"), beside("previousNode")];
  return next ? next.left < rect.left : previous ? previous.left > rect.left : false;
}

const measure = document.createRange();

function rectsOf(node, start, end) {
  measure.setStart(node, start);
  measure.setEnd(node, end);
  return measure.getClientRects();
}

function rectOf(node, start, end) {
  measure.setStart(node, start);
  measure.setEnd(node, end);
  return measure.getBoundingClientRect();
}

/** Splits a text at line ends and where its direction changes: [start, end] of each run. */
function runs(node) {
  if (rectsOf(node, 0, node.data.length).length < 2) return [[0, node.data.length]];
  const found = [];
  let last = null;
  for (const { segment, index } of graphemes.segment(node.data)) {
    const rect = [...rectsOf(node, index, index + segment.length)].find(({ width }) => width > 0);
    if (!rect) {
      if (found.length) found.at(-1)[1] = index + segment.length;
      continue;
    }
    const isRtl = RTL.test(segment) ? true : /\p{L}|\p{N}/u.test(segment) ? false : last?.isRtl ?? false;
    const continues = last && Math.abs(rect.top - last.rect.top) < 2 && isRtl === last.isRtl && Math.abs(isRtl ? last.rect.left - rect.right : rect.left - last.rect.right) < 1.5;
    if (continues) found.at(-1)[1] = index + segment.length;
    else found.push([index, index + segment.length]);
    last = { rect, isRtl };
  }
  return found;
}

/** The number or bullet of a list's item, which is generated text. */
function marker(element, style, canvas, opacity) {
  const list = element.parentElement;
  if (style.listStyleType === "none") return;
  const number = list.localName === "ol" ? `${(list.start || 1) + [...list.children].indexOf(element)}.` : "•";
  const { left, top } = element.getBoundingClientRect();
  const [width, height] = [number.length * parseFloat(style.fontSize) * 0.55, parseFloat(style.lineHeight) || 1.5 * parseFloat(style.fontSize)];
  canvas.text(number, { left: left - width - 6, top: top + (height - 1.17 * parseFloat(style.fontSize)) / 2, width, height: 1.17 * parseFloat(style.fontSize) }, style, opacity);
}

/** A slice of a character that is split between tokens; see `slice` in draw.js. */
function slice(element, style, canvas, opacity) {
  const box = element.getBoundingClientRect();
  const [first, end, size] = ["--first", "--end", "--size"].map((name) => Number(style.getPropertyValue(name)));
  const width = (box.width * size) / (end - first);
  const isReversed = style.direction === "rtl";
  const left = isReversed ? box.right - width + (width * first) / size : box.left - (width * first) / size;
  canvas.text(element.dataset.s, { left, top: box.top, width, height: box.height }, style, opacity, { clip: { left: box.left, top: box.top - 2, width: box.width, height: box.height + 4 } });
}

// ── charts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Copies a chart with its styles as attributes. */
function inlined(element) {
  const style = getComputedStyle(element);
  const made = element.cloneNode(false);
  for (const name of ["class", "style", "role", "aria-label", "tabindex"]) made.removeAttribute(name);
  const isText = element.localName === "text" || element.localName === "tspan";
  for (const name of isText ? [...DRAWN, ...WRITTEN] : DRAWN) {
    if (element.localName === "svg" || element.localName === "title") break;
    const value = style.getPropertyValue(name);
    if (name === "fill" || name === "stroke") made.setAttribute(name, hex(value) ?? "none");
    else if (name === "font-family") made.setAttribute(name, family(value));
    else if (!["1", "none", "normal", "auto", "miter", "butt", ""].includes(value)) made.setAttribute(name, value.replace(/px\b/g, ""));
    else if (name === "stroke-width") made.setAttribute(name, value);
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) made.append(child.data.replace(MARKS, ""));
    else if (child.nodeType === Node.ELEMENT_NODE && getComputedStyle(child).display !== "none") made.append(inlined(child));
  }
  return made;
}

// ── values ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const round = (value) => String(Math.round(value * 100) / 100);
const escape = (string) => string.replace(/[&<>"]/g, (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[character]);
/** Font families without those that only browsers know. */
const family = (names) => names.split(/,\s*/).filter((name) => !/^(ui-|system-ui)/.test(name)).map((name) => name.replaceAll('"', "'")).join(",");

const pixel = document.createElement("canvas");
pixel.width = pixel.height = 1;
const brush = pixel.getContext("2d", { willReadFrequently: true });
const colors = new Map(); // of one picture: the ground is that of the theme

/** A color as `#rrggbb`, mixed with the ground if it is translucent; null if it is transparent or none. */
function hex(color) {
  if (color === "none") return null;
  if (!colors.has(color)) {
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = "#000";
    brush.fillStyle = color;
    brush.fillRect(0, 0, 1, 1);
    let [red, green, blue, alpha] = brush.getImageData(0, 0, 1, 1).data;
    if (alpha && alpha < 255) {
      brush.clearRect(0, 0, 1, 1);
      brush.fillStyle = getComputedStyle(document.body).backgroundColor;
      brush.fillRect(0, 0, 1, 1);
      brush.fillStyle = color;
      brush.fillRect(0, 0, 1, 1);
      [red, green, blue] = brush.getImageData(0, 0, 1, 1).data;
    }
    colors.set(color, alpha ? `#${[red, green, blue].map((value) => value.toString(16).padStart(2, "0")).join("")}` : null);
  }
  return colors.get(color);
}

const ascents = new Map(); // font → ascent and height of its box

/** The baseline below the top of a box of text. */
function ascent({ fontStyle, fontWeight, fontSize, fontFamily }, height) {
  const font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
  if (!ascents.has(font)) {
    brush.font = font;
    const { fontBoundingBoxAscent, fontBoundingBoxDescent } = brush.measureText("x");
    ascents.set(font, [fontBoundingBoxAscent, fontBoundingBoxAscent + fontBoundingBoxDescent]);
  }
  const [above, all] = ascents.get(font);
  return above + (height - all) / 2;
}

/**
 * Draws a picture on a canvas.
 *
 * @param {string} markup  SVG
 * @returns {Promise<Blob>}  PNG
 */
export async function toPng(markup) {
  const url = URL.createObjectURL(new Blob([markup], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const scale = Math.min(SHARP, MAX_PIXELS / image.naturalWidth, MAX_PIXELS / image.naturalHeight);
    const canvas = h("canvas", { width: Math.round(image.naturalWidth * scale), height: Math.round(image.naturalHeight * scale) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => canvas.toBlob(done, "image/png"));
  } finally {
    URL.revokeObjectURL(url);
  }
}

const SHARP = 2; // scale of the PNG
const MAX_PIXELS = 16_000; // per side; the limit of canvases in browsers
