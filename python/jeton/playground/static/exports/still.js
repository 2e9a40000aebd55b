// A copy of what a view shows, without its controls, for pictures and files.

import { askStyles } from "../ask.js";
import { h } from "../dom.js";

/** Tokens of each drawing in a copy; the number of those left out is written after them. */
export const MAX_TOKENS = 5_000;
/** Elements that are not copied. */
const CONTROLS = "input, textarea, select, datalist, summary, .one-line, .player, .stepper, .pager, [hidden], details:not([open]), button:not(:is(th, td, li) > *, .split)";

/**
 * Copies elements of a view.
 *
 * @param {Element[]} elements
 * @param {Object} options
 * @param {string} options.view  id of the view, whose styles apply
 * @param {string} options.caption  a line below
 * @param {(left: number) => string} options.more  the words for tokens that are left out
 * @returns {HTMLElement}
 */
export function still(elements, { view, caption, more }) {
  const copies = elements.filter((element) => element && !element.matches(CONTROLS)).map((element) => copy(element, more, null));
  return h("div", { class: `still view view-${view}` }, ...copies, h("p", { class: "caption" }, caption));
}

function copy(element, more, given) {
  const drawing = element.drawing ?? given;
  const isButton = element.localName === "button" || element.localName === "a";
  const made = isButton ? h("span", { class: `${element.className} pressed-${element.getAttribute("aria-pressed") ?? "none"}` }) : element.cloneNode(false);
  for (const name of ["id", "tabindex", "aria-live", "aria-describedby", "aria-labelledby", "aria-expanded", "data-drawing"]) made.removeAttribute(name);
  if (element.matches(".t")) {
    for (const name of ["role", "aria-label"]) made.removeAttribute(name);
    made.classList.remove("current");
    const look = drawing?.table[Number(/\bk(\d+)\b/.exec(element.className)?.[1])];
    if (look) made.title = `id ${look.id} · ${look.hex.replace(/..(?!$)/g, "$& ")}`; // in a file, in place of the card
  }
  if (element.drawing && (element.total ?? 0) > Math.min(element.drawing.ids.length, MAX_TOKENS)) return beginning(element, made, more);
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) made.append(child.data);
    else if (child.namespaceURI === "http://www.w3.org/2000/svg") made.append(child.cloneNode(true));
    else if (child.nodeType === Node.ELEMENT_NODE && !child.matches(CONTROLS)) made.append(copy(child, more, drawing));
  }
  return made;
}

/** Copies the first tokens of a drawing. */
function beginning(element, made, more) {
  const { drawing } = element;
  let left = MAX_TOKENS;
  for (const block of element.children) {
    if (!left) break;
    const part = block.cloneNode(false);
    for (const child of block.childNodes) {
      if (!left) break;
      part.append(child.nodeType === Node.ELEMENT_NODE ? copy(child, more, drawing) : child.data);
      if (child.nodeType === Node.ELEMENT_NODE && child.matches(".t")) left--;
    }
    made.append(part);
  }
  made.append(h("p", { class: "left-out" }, more(element.total - (MAX_TOKENS - left))));
  return made;
}

/**
 * A file of a copy: its styles are inside, it has no scripts, and loads nothing.
 *
 * @param {HTMLElement} root  of `still`
 * @param {{title: string, lang: string}} facts
 * @returns {Promise<string>}
 */
export async function toPage(root, { title, lang }) {
  const serialized = (element) => h("div", {}, element).getHTML();
  const head = [
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    serialized(h("title", {}, title)),
    `<style>\n${await styles(root)}\n</style>`,
  ];
  return `<!doctype html>\n<html lang="${lang}">\n<head>\n${head.join("\n")}\n</head>\n<body>\n${serialized(h("main", {}, h("h1", { class: "unseen" }, title), root))}\n</body>\n</html>\n`;
}

/** The page's style sheets, and of the rules for hues those that a copy uses. */
async function styles(root) {
  // not `cssText` of their rules, from which browsers leave out shorthands with variables
  const sheets = await askStyles([...document.styleSheets].map(({ href }) => href));
  const used = new Set([...root.querySelectorAll("[class]")].flatMap((element) => [...element.classList]));
  const hues = document.adoptedStyleSheets.flatMap((sheet) => [...sheet.cssRules].filter(({ selectorText }) => used.has(selectorText.slice(1))).map((rule) => rule.cssText));
  return [...sheets, ...hues].join("\n");
}
