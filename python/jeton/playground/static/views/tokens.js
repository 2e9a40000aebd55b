// Tokens view: tokens of the text while typing, with details of one token.
//
// The text box (by its caret), the drawing, and the list of ids or bytes are synchronized. Hovering a token displays its
// card; pressing a token pins it.

import { uncover } from "../card.js";
import { codePoints, units } from "../text_units.js";
import { onOtherTokenizers } from "../widgets.js";
import { failure, h, number } from "../dom.js";
import { counted } from "../language.js";
import { exports } from "../exports.js";

const FIRST_LIMIT = 20_000; // tokens drawn of a long text at first
const MAX_LIMIT = 200_000;
const TELL_AFTER_MS = 700; // counts are announced to screen readers when typing pauses
// Classic -> the question that leads to it
const QUESTIONS = {
  strawberry: "How many r’s are in strawberry?",
  numbers: "Is 9.11 larger than 9.8?",
  reversing: "Why is a word hard to reverse?",
  "trailing-space": "What does a trailing space change?",
  endoftext: "What if a user types <|endoftext|>?",
  "cut-character": "Can a token be a part of a character?",
};
const LISTS = { ids: "ids", bytes: "bytes", none: "nothing" };

export function mount(root, app) {
  const ask = app.latest();
  const box = app.textBox({ onCaret: followCaret });
  const special = toggle("special", "Parse special tokens", "Encode the spelling of a special token in the text as that token. Otherwise it is plain text.");
  const template = toggle("template", "Add special tokens", "Apply the tokenizer's template, such as a BOS token.");
  const figures = h("dl", { class: "figures", "aria-label": "Counts" });
  const pane = h("div", { class: "pane" });
  const more = h("p", { class: "more", hidden: true });
  const list = h("div", { class: "pane list" });
  const detail = h("aside", { class: "detail", "aria-label": "One token" });
  const saves = exports(app, () => answer);
  const lists = h("fieldset", { class: "choices" }, h("legend", {}, "Also show"), ...Object.entries(LISTS).map(listChoice));
  root.append(
    h("p", { class: "intro" }, "Type a text, and see the tokens that a language model reads in its place."),
    box,
    h("div", { class: "examples" }, "Questions:", ...Object.entries(QUESTIONS).map(question)),
    h("div", { class: "options" }, special, template),
    figures,
    h("div", { class: "bench" }, h("div", { class: "reading" }, pane, more, h("div", { class: "bar" }, lists, saves), list), detail),
  );

  let answer = null; // the latest response, with its request
  let limit = FIRST_LIMIT;
  let drawings = []; // the elements of the tokens: the text, and the list
  let pinned = null; // index of the pinned token
  let listed = null; // content of the list: "ids", "bytes" or "none"
  let pointing = 0;
  let telling = 0;

  function toggle(name, label, title) {
    const input = h("input", { type: "checkbox", on: { change: () => app.set({ [name]: input.checked }) } });
    return Object.assign(h("label", { class: "toggle", title }, input, label), { input });
  }

  function question([classic, words]) {
    return h("button", { type: "button", class: "link", on: { click: () => app.go({ view: "classics", classic }) } }, words);
  }

  function listChoice([value, label]) {
    const properties = { type: "radio", name: "list", value, checked: value === "ids" };
    return h("label", {}, h("input", { ...properties, on: { change: () => app.set({ list: value === "ids" ? undefined : value }) } }), label);
  }

  // ── requests ───────────────────────────────────────────────────────────────────────────────────────────────────────

  let asked = "";
  let askedText = null;

  async function update(state) {
    const { tokenizer, text, special, template } = state;
    const question = JSON.stringify([tokenizer, special, template, limit]);
    if (askedText === text && asked === question) return;
    if (askedText !== text) limit = FIRST_LIMIT;
    [asked, askedText] = [JSON.stringify([tokenizer, special, template, limit]), text];
    root.setAttribute("aria-busy", "true");
    try {
      const found = await ask("tokens", { tokenizer, text, special, template, limit });
      if (found === null) return;
      answer = { ...found, tokenizer, text, special, template, entry: app.tokenizer() };
      draw();
    } catch (error) {
      stopTimers();
      answer = null; // retried when a file is opened
      drawings = [];
      figures.replaceChildren();
      list.replaceChildren();
      detail.replaceChildren();
      more.hidden = true;
      pane.replaceChildren(failure(error));
    }
    root.removeAttribute("aria-busy");
  }

  // ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────

  function draw() {
    const { drawing } = answer;
    stopTimers();
    pinned = null;
    const text = app.draw(drawing, { label: "Tokens", onToken });
    drawings = [text];
    pane.replaceChildren(text);
    drawFigures();
    drawMore();
    drawList(listKind(app.state));
    detail.replaceChildren(invitation());
    telling = setTimeout(() => app.say(figureRows().map(([name, value]) => `${value} ${name}`).join(", ")), TELL_AFTER_MS);
  }

  /** Cancels timers that refer to the previous response. */
  function stopTimers() {
    clearTimeout(telling);
    clearTimeout(pointing);
  }

  function figureRows() {
    const { num_tokens, num_bytes, num_chars } = answer;
    return [
      ["tokens", number(num_tokens)],
      ["bytes", number(num_bytes)],
      ["characters", number(num_chars)],
      ["bytes per token", num_tokens ? (num_bytes / num_tokens).toFixed(2) : "–"],
    ];
  }

  function drawFigures() {
    figures.replaceChildren(...figureRows().map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  }

  function drawMore() {
    const { drawing, num_tokens } = answer;
    const shown = drawing.ids.length;
    more.hidden = shown === num_tokens;
    if (more.hidden) return;
    const next = Math.min(shown * 5, num_tokens, MAX_LIMIT);
    const act = () => { limit = next; update(app.state); };
    const button = next > shown ? h("button", { type: "button", on: { click: act } }, `Draw ${number(next)}`) : "that is the maximum";
    more.replaceChildren(`The first ${number(shown)} of ${counted(num_tokens, "token")} are drawn; the counts are of the whole text. `, button);
  }

  async function drawList(as) {
    listed = as;
    for (const input of lists.querySelectorAll("input")) input.checked = input.value === as;
    list.replaceChildren();
    const [text] = drawings;
    drawings = [text];
    if (as === "none") return;
    await text.filled; // the text first
    if (drawings[0] !== text || listed !== as) return;
    const element = app.draw(answer.drawing, { label: `Tokens as ${as}`, as, onToken });
    drawings = [text, element];
    list.replaceChildren(element);
    if (pinned !== null) element.look(pinned);
  }

  // ── selection ──────────────────────────────────────────────────────────────────────────────────────────────────────

  function onToken(index, how) {
    clearTimeout(pointing);
    if (how === "hover") {
      pointing = setTimeout(() => look(index ?? pinned, { card: true }), index === null ? 120 : 40);
      return;
    }
    pinned = index; // also if pinned already, by the caret or the focus
    look(pinned, { scroll: true });
    selectText(pinned);
  }

  /** Makes a token current in all drawings; null: none. */
  function look(index, { scroll = false } = {}) {
    for (const drawing of drawings) drawing.look(index, { scroll: scroll && !drawing.contains(document.activeElement) });
    detail.replaceChildren(index === null ? invitation() : card(index));
    if (index !== null && scroll) uncover(detail, (drawings.find((drawing) => drawing.contains(document.activeElement)) ?? drawings[0]).token(index));
  }

  /** Unpins the token; if the card has the focus, returns it to the token. */
  function close() {
    const hadFocus = detail.contains(document.activeElement);
    clearTimeout(pointing);
    pinned = null;
    look(null);
    if (hadFocus) drawings[0].rest();
  }

  function invitation() {
    return h("p", { class: "invitation" }, "Hover over a token, or place the caret of the text in it, for its details. Arrow keys move between tokens; Escape closes the card.");
  }

  function card(index) {
    const { drawing, tokenizer } = answer;
    const id = drawing.ids[index];
    return app.card(tokenizer, id, { look: drawing.table[drawing.looks[index]], close: index === pinned ? close : undefined, extra: [shares(index), places(index, id)] });
  }

  /** Describes the tokens that share a character with it. */
  function shares(index) {
    const { groups, ids } = answer.drawing;
    let first = index;
    let end = index + 1;
    while (first > 0 && groups[first - 1] === groups[index]) first--;
    while (end < groups.length && groups[end] === groups[index]) end++;
    if (end - first === 1) return null;
    return h("p", { class: "shares" }, `Shares a character with ${counted(end - first - 1, "neighbor")}: ids ${ids.slice(first, end).join(", ")}.`);
  }

  /** Occurrences of the same id, with buttons to move between them. */
  function places(index, id) {
    const { ids, char_starts, char_ends } = answer.drawing;
    const all = [];
    for (let other = ids.indexOf(id); other !== -1; other = ids.indexOf(id, other + 1)) all.push(other);
    const at = all.indexOf(index);
    const where = char_starts[index] === char_ends[index] ? `no characters, at ${number(char_starts[index])}` : `characters ${number(char_starts[index])} to ${number(char_ends[index])}`;
    const go = (step) => {
      pinned = all[(at + step + all.length) % all.length];
      look(pinned, { scroll: true });
      detail.querySelector(step < 0 ? ".previous" : ".next")?.focus();
    };
    const button = (name, step, sign) => h("button", { type: "button", class: name, "aria-label": `${name} occurrence`, on: { click: () => go(step) } }, sign);
    const many = all.length > 1;
    return h(
      "p",
      { class: "places" },
      many ? button("previous", -1, "‹") : null,
      many ? `occurrence ${number(at + 1)} of ${number(all.length)}: ` : "Only occurrence: ",
      where,
      many ? button("next", 1, "›") : null,
    );
  }

  // ── text box ──────────────────────────────────────────────────────────────────────────────────────────────────────

  function followCaret(start) {
    if (!answer || answer.text !== app.state.text) return;
    const index = tokenAt(answer.drawing, codePoints(answer.text, start));
    if (index === pinned) return;
    pinned = index;
    look(index, { scroll: true });
  }

  function selectText(index) {
    const { char_starts, char_ends } = answer.drawing;
    if (answer.text === app.state.text) box.select(units(answer.text, char_starts[index]), units(answer.text, char_ends[index]));
  }

  onOtherTokenizers(app, () => {
    if (answer) return;
    asked = "";
    if (!root.hidden) update(app.state);
  });

  return {
    show(state) {
      box.show(state);
      special.input.checked = state.special;
      template.input.checked = state.template;
      update(state);
      const as = listKind(state);
      if (drawings.length && as !== listed) drawList(as);
    },
    hide() {},
  };
}

const listKind = (state) => (Object.hasOwn(LISTS, state.list) ? state.list : "ids");

/** Returns the token that covers a character, or the last token at the end of the text; null: none. */
function tokenAt({ char_starts, char_ends }, at) {
  let low = 0;
  for (let high = char_starts.length; low < high; ) {
    const middle = (low + high) >> 1;
    if (char_starts[middle] <= at) low = middle + 1;
    else high = middle;
  }
  for (let index = low - 1; index >= Math.max(low - 5, 0); index--) {
    if (char_starts[index] <= at && at < char_ends[index]) return index;
  }
  return at > 0 && low > 0 && char_ends[low - 1] === at ? low - 1 : null;
}
