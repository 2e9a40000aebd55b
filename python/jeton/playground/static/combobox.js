// Combobox: a text box that filters a list, by the ARIA pattern "editable combobox with list autocomplete".
//
// Typing filters, arrows move, Enter chooses, Escape and leaving restore the value. Source: ARIA Authoring Practices
// Guide, Combobox Pattern (w3.org/WAI/ARIA/apg/patterns/combobox).

import { h } from "./dom.js";
import { say } from "./language.js";

let made = 0;

/** Spelling for comparisons: "GPT-4o" and "gpt 4o" are equal. */
const folded = (text) => text.toLowerCase().replace(/[\s_./:-]+/g, "");

/**
 * @param {Object} options
 * @param {string} options.label  name for screen readers
 * @param {string} [options.placeholder]
 * @param {() => Array<{value: string, name: string, words: string[], note: string, group: string}>} options.options
 *   called when the list opens; `value` identifies one. `words` are searched besides the name, and the first matching ones are shown; `note` is
 *   shown at the end; options of one group are adjacent
 * @param {(option: Object) => void} options.onChoose
 * @returns {HTMLElement} with `show(name)`, which displays the name of the chosen option; `refresh()`, for options that
 *   have changed; and `input`
 */
export function combobox({ label, placeholder = "", options, onChoose }) {
  const id = `combobox-${++made}`;
  const list = h("div", { id: `${id}-list`, class: "list", role: "listbox", "aria-label": say("Choices"), hidden: true });
  const input = h("input", {
    id, type: "text", role: "combobox", "aria-label": label, "aria-expanded": "false", "aria-autocomplete": "list", "aria-controls": list.id,
    placeholder, autocomplete: "off", autocapitalize: "off", spellcheck: "false",
  });
  const root = h("div", { class: "combobox" }, input, list);

  let chosen = ""; // the name that the closed box displays
  let query = ""; // what was typed since the list opened
  let shown = []; // the options in the list, with their elements
  let active = -1;

  const isOpen = () => !list.hidden;

  function open() {
    if (isOpen()) return;
    query = "";
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    input.select();
    fill();
  }

  function close() {
    if (!isOpen()) return;
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    input.value = chosen;
    active = -1;
  }

  function fill() {
    const wanted = folded(query);
    const matches = (text) => folded(text).includes(wanted);
    const found = options().filter(({ name, words }) => matches(name) || words.some(matches));
    const groups = new Map();
    shown = found.map((option, index) => {
      const words = wanted ? [...option.words.filter(matches), ...option.words.filter((word) => !matches(word))] : option.words;
      const uses = words.slice(0, 3).join(", ") + (words.length > 3 ? ", …" : "");
      const element = h(
        "div",
        { id: `${id}-${index}`, role: "option", "aria-selected": "false" },
        h("span", { class: "name", translate: "no" }, option.name),
        uses ? h("span", { class: "words", translate: "no" }, uses) : null,
        option.note ? h("span", { class: "words note" }, option.note) : null,
      );
      if (!groups.has(option.group)) groups.set(option.group, h("div", { role: "group", "aria-label": option.group }));
      groups.get(option.group).append(element);
      return { ...option, element };
    });
    list.replaceChildren(...(shown.length ? groups.values() : [h("div", { class: "none" }, "–")]));
    // an exact name first: "gpt2" is in many
    const exact = wanted ? shown.findIndex(({ value, name, words }) => [value, name, ...words].some((word) => folded(word) === wanted)) : -1;
    const now = wanted ? Math.max(exact, 0) : shown.findIndex(({ name }) => name === chosen);
    activate(shown.length ? now : -1);
  }

  function activate(index) {
    shown[active]?.element.setAttribute("aria-selected", "false");
    active = index;
    const option = shown[index];
    if (!option) return input.removeAttribute("aria-activedescendant");
    option.element.setAttribute("aria-selected", "true");
    input.setAttribute("aria-activedescendant", option.element.id);
    const [outer, inner] = [list.getBoundingClientRect(), option.element.getBoundingClientRect()];
    if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top + 8;
    else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom + 8;
  }

  function choose(option) {
    close();
    if (option) onChoose(option);
  }

  input.addEventListener("click", open);
  input.addEventListener("blur", close);
  input.addEventListener("input", () => {
    const typed = input.value;
    open();
    input.value = query = typed;
    input.setSelectionRange(typed.length, typed.length);
    fill();
  });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      if (isOpen()) activate((active + step + shown.length) % Math.max(shown.length, 1));
      else open();
    } else if (event.key === "Enter" && isOpen()) choose(shown[active]);
    else if (event.key === "Escape" && isOpen()) close();
    else return;
    event.preventDefault();
  });
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus in the box
  list.addEventListener("click", (event) => {
    const element = event.target.closest("[role=option]");
    if (element) choose(shown.find((option) => option.element === element));
  });

  root.input = input;
  root.show = (name) => {
    chosen = name;
    if (!isOpen()) input.value = name;
  };
  root.refresh = () => { if (isOpen()) fill(); };
  root.open = () => { input.focus(); open(); };
  return root;
}
