// The menu of copies and files: the same in every view.
//
// A view tells what it shows by `exported()`, which returns null if there is nothing, or
//
// elements   the elements of a picture or file; controls are left out, see exports/still.js
// file       name of a file without its ending: "tokens"
// facts      what the caption names besides the version: tokenizer and count
// ids        [name, ids] of each tokenizer; absent if the view shows no ids
// data       () → what is copied and saved as JSON
// python     a program that gives the same, and `shell`, a command; null if there is none
// token      whether the address has a token
// partial    number of tokens that `ids` and `data` have of a longer text; else absent
// ready      a promise: the elements are complete; absent if they are

import { bibtex, version } from "./citation.js";
import { h, number } from "./dom.js";
import { still, toPage } from "./exports/still.js";
import { toPng, toSvg } from "./exports/svg.js";
import { python } from "./exports/calls.js";
import { counted, say } from "./language.js";

const SAID_MS = 1_500; // how long the button tells what was done

/**
 * @param {Object} app
 * @param {Object} page
 * @param {() => Promise<void>} page.share  copies the address
 * @param {() => Promise<string|undefined>} page.citable  the address, if it is of a public page
 * @param {(text: string, wrong?: boolean) => void} page.notify
 * @param {() => Object|null} page.current  what the open view exports
 * @returns {HTMLElement}
 */
export function exportMenu(app, { share, citable, notify, current }) {
  const button = h("button", { type: "button", "aria-haspopup": "menu", "aria-expanded": "false", on: { click: () => toggle(popup.hidden), keydown: onButtonKey } }, say("Export"));
  const menu = h("div", { role: "menu", "aria-label": say("Export"), on: { keydown: onKey } });
  const note = h("p", { class: "hint" });
  const popup = h("div", { class: "popup", hidden: true }, menu, note);
  const root = h("div", { class: "menu" }, button, popup);
  addEventListener("pointerdown", (event) => { if (!root.contains(event.target)) toggle(false, false); });
  root.addEventListener("focusout", (event) => { if (event.relatedTarget && !root.contains(event.relatedTarget)) toggle(false, false); });
  let telling = 0;

  function toggle(isOpen, focus = true) {
    if (popup.hidden === !isOpen) return;
    popup.hidden = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) fill();
    if (focus) (isOpen ? menu.querySelector("[role=menuitem]") : button)?.focus();
  }

  function onButtonKey(event) {
    if (event.key !== "ArrowDown" || !popup.hidden) return;
    event.preventDefault();
    toggle(true);
  }

  function onKey(event) {
    const items = [...menu.querySelectorAll("[role=menuitem]")];
    const at = items.indexOf(document.activeElement);
    const to = { ArrowDown: (at + 1) % items.length, ArrowUp: (at - 1 + items.length) % items.length, Home: 0, End: items.length - 1 }[event.key];
    if (event.key === "Escape") toggle(false);
    else if (event.key === "Tab") return toggle(false, false);
    else if (to !== undefined) items[to].focus();
    else return;
    event.preventDefault();
  }

  function tell(words) {
    clearTimeout(telling);
    button.textContent = words;
    app.say(words);
    telling = setTimeout(() => { button.textContent = say("Export"); }, SAID_MS);
  }

  const act = (work, done) => async () => {
    toggle(false);
    try {
      await work();
      if (done) tell(done);
    } catch (error) {
      notify(error.message, true);
    }
  };

  function fill() {
    const found = current();
    const item = ([words, work, done]) => h("button", { type: "button", role: "menuitem", tabindex: -1, on: { click: act(work, done) } }, words);
    const group = (label, items) => (items.length ? [h("div", { role: "group", "aria-label": label }, ...items.map(item))] : []);
    const copied = (words, text) => [words, () => copy(text()), say("Copied")];
    const copies = [[found?.token ? say("Link to this token") : say("Link to this view"), share, ""]];
    if (found?.ids) copies.push(copied(say("Ids"), () => plainIds(found.ids)), copied(say("Ids in Python"), () => pythonIds(found.ids)));
    if (found?.data) copies.push(copied("JSON", () => json(found)));
    if (found?.python) copies.push(copied(say("Call in Python"), () => found.python));
    if (found?.shell) copies.push(copied(say("Shell command"), () => found.shell));
    copies.push([say("Citation (BibTeX)"), async () => copy(bibtex(await citable())), say("Copied")]);
    const saved = (ending, work) => [ending, () => work(found), say("Saved")];
    const files = found ? [saved("SVG", saveSvg), saved("PNG", savePng), saved("HTML", saveHtml), ...(found.data ? [saved("JSON", saveJson)] : [])] : [];
    menu.replaceChildren(...group(say("Copy"), copies), ...group(say("Save as"), files));
    note.hidden = !found?.partial;
    if (found?.partial) note.textContent = say("Ids and JSON have the first {number} tokens, which are drawn.", { number: number(found.partial) });
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      throw new Error(say("The browser does not let this page copy. Allow it, or save the view as a file."));
    }
  }

  const caption = ({ facts }) => [...facts, `Jeton ${version}`].join(" · ");
  const json = (found) => JSON.stringify({ jeton: version, ...found.data() }, null, 1);

  async function copyOf(found) {
    await found.ready;
    const more = (left) => say("… {tokens} more", { tokens: counted(left, "token") });
    return still(found.elements, { view: app.state.view, caption: caption(found), more });
  }

  const svgOf = async (found) => toSvg(await copyOf(found), caption(found));
  const saveSvg = async (found) => download(`${found.file}.svg`, new Blob([await svgOf(found)], { type: "image/svg+xml" }));
  const savePng = async (found) => download(`${found.file}.png`, await toPng(await svgOf(found)));
  const saveHtml = async (found) => download(`${found.file}.html`, new Blob([await toPage(await copyOf(found), { title: caption(found), lang: document.documentElement.lang })], { type: "text/html" }));
  const saveJson = async (found) => download(`${found.file}.json`, new Blob([json(found)], { type: "application/json" }));

  return root;
}

const plainIds = (all) => all.map(([name, ids]) => (all.length > 1 ? `${name}: ${ids.join(" ")}` : ids.join(" "))).join("\n");
const pythonIds = (all) => python(all.length > 1 ? Object.fromEntries(all) : all[0][1]);

/** The tokens of a drawing, with their bytes and places, for JSON. */
export function tokensOf(drawing) {
  return drawing.ids.map((id, index) => ({
    id,
    bytes_hex: drawing.table[drawing.looks[index]].hex,
    byte_span: [drawing.byte_starts[index], drawing.byte_ends[index]],
    char_span: [drawing.char_starts[index], drawing.char_ends[index]],
    group: drawing.groups[index],
  }));
}

/** Downloads a file. */
function download(name, blob) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
