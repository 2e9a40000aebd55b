// Text box bound to `state.text`, shared by several views. While a view displays an example, its box is bound to that, so
// that the text of the other views is kept.
//
// A text over `LONGEST` is too slow to edit in a browser. The box then displays only its beginning, read-only; the text
// can be replaced or cleared, and all views use the whole text.

import { h } from "./dom.js";
import { counted, say } from "./language.js";
import { eastAsian, languageOf } from "./text_units.js";

const LONGEST = 200_000; // UTF-16 units of an editable text
const SHOWN = 10_000; // UTF-16 units displayed of a longer one
const TYPING_MS = 20; // debounce delay; an older request is aborted

let made = 0;

/** The text that the open view displays: its example, or the text of all views. */
export const textOf = (state) => (typeof state.example === "string" ? state.example : state.text);

/**
 * @param {Object} app
 * @param {Object} options
 * @param {string} [options.label]
 * @param {number} [options.rows]
 * @param {Object} [options.reset]  state keys to change with the text
 * @param {(start: number, end: number) => void} [options.onCaret]  the caret or selection moved, in UTF-16 units
 * @returns {HTMLElement} with `show(state)`, which displays the state's text, and `select(start, end)`
 */
export function textBox(app, { label = say("Text"), rows = 5, reset = {}, onCaret } = {}) {
  const id = `text-${++made}`;
  const area = h("textarea", { id, rows, spellcheck: "false", autocomplete: "off", autocapitalize: "off", dir: "auto" });
  const words = h("span");
  const clear = h("button", { type: "button", on: { click: () => { put(""); area.focus(); } } }, say("Clear"));
  const held = h("p", { class: "held", hidden: true }, words, " ", clear);
  const root = h("div", { class: "textbox" }, h("label", { for: id }, label), area, held);

  let text = ""; // the whole text
  let typing = 0;

  const keep = (next) => app.set({ ...reset, ...(typeof app.state.example === "string" ? { example: next || undefined } : { text: next }) });

  const put = (next) => {
    clearTimeout(typing);
    typing = 0;
    place(next);
    keep(next);
  };

  const place = (next) => {
    text = next;
    const isLong = next.length > LONGEST;
    const shown = isLong ? next.slice(0, SHOWN) : next;
    if (area.value !== shown) area.value = shown;
    speak();
    area.readOnly = isLong;
    held.hidden = !isLong;
    if (isLong) words.textContent = say("The text has {characters}; only its beginning is shown. Paste to replace it.", { characters: counted(next.length, "character") });
  };

  /** Sets the language, which selects the font of Han characters. */
  const speak = () => {
    const lang = languageOf(eastAsian(area.value)) ?? "";
    if (area.lang !== lang) area.lang = lang;
  };

  const tell = () => {
    if (!typing) return;
    clearTimeout(typing);
    typing = 0;
    keep(text);
  };

  area.addEventListener("input", () => {
    text = area.value;
    speak();
    clearTimeout(typing);
    if (text.length > LONGEST) return put(text);
    typing = setTimeout(tell, TYPING_MS);
  });
  area.addEventListener("blur", tell); // before the newly focused control changes the state

  area.addEventListener("paste", (event) => {
    const pasted = event.clipboardData.getData("text/plain");
    if (area.readOnly) put(pasted);
    else if (pasted.length + text.length > LONGEST) put(text.slice(0, area.selectionStart) + pasted + text.slice(area.selectionEnd));
    else return; // the browser's own paste can be undone
    event.preventDefault();
  });

  // offsets in the box differ from those in the text if the box normalizes line ends
  const isExact = () => text.startsWith(area.value);
  const caret = () => { if (document.activeElement === area && isExact()) onCaret?.(area.selectionStart, area.selectionEnd); };
  area.addEventListener("selectionchange", caret);
  area.addEventListener("keyup", caret);
  area.addEventListener("click", caret);

  root.show = (state) => { if (!typing && textOf(state) !== text) place(textOf(state)); }; // pending input is newer
  root.select = (start, end) => {
    if (isExact()) area.setSelectionRange(Math.min(start, area.value.length), Math.min(end, area.value.length));
  };
  root.area = area;
  return root;
}
