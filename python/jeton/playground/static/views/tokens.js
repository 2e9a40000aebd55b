// Tokens view: tokens of the text while typing, with details of one token.
//
// The text box (by its caret), the drawing, and the list of ids or bytes are synchronized. Hovering a token displays its
// card; pressing a token pins it.

import { uncover } from "../card.js";
import { codePoints, units } from "../text_units.js";
import { onOtherTokenizers } from "../widgets.js";
import { failure, h, number } from "../dom.js";
import { counted, gap, message, say, sayNodes } from "../language.js";
import { callOnText, captionName } from "../exports/calls.js";
import { tokensOf } from "../exports.js";
import { observed } from "./tokens/observed.js";

const FIRST_LIMIT = 20_000; // tokens drawn of a long text at first
const MAX_LIMIT = 200_000;
const TELL_AFTER_MS = 700; // counts are announced to screen readers when typing pauses
// Classic -> the question that leads to it; the others are in the classics view
const QUESTIONS = {
  strawberry: message("How many r’s are in strawberry?"),
  numbers: message("Is 9.11 larger than 9.8?"),
  endoftext: message("What if a user types <|endoftext|>?"),
};
const LISTS = { none: message("nothing"), ids: message("ids"), bytes: message("bytes") };

export function mount(root, app) {
  const ask = app.latest();
  const box = app.textBox({ onCaret: followCaret, rows: 5, reset: { token: undefined } });
  const special = toggle("special", say("Parse special tokens"), say("Encode the spelling of a special token in the text as that token. Otherwise it is plain text."));
  const template = toggle("template", say("Add special tokens"), say("Apply the tokenizer's template, such as a BOS token."));
  const figures = h("dl", { class: "figures", "aria-label": say("Counts") });
  const pane = h("div", { class: "pane" });
  const more = h("p", { class: "more", hidden: true });
  const finding = h("p", { class: "finding" });
  const list = h("div", { class: "pane list" });
  const detail = h("aside", { class: "detail", "aria-label": say("One token") });
  const lists = h("fieldset", { class: "choices" }, h("legend", {}, say("List")), ...Object.entries(LISTS).map(listChoice));
  const options = h("details", { class: "settings" }, h("summary", {}, say("Options")), h("div", { class: "options" }, special, template), h("div", { class: "bar" }, lists), list);
  const questions = h("section", { class: "questions", "aria-label": say("Questions") }, ...Object.entries(QUESTIONS).map(question));
  root.append(
    h("p", { class: "intro" }, say("A language model does not read your text: it reads tokens, each of them a number.")),
    h("div", { class: "bench" }, h("div", { class: "writing" }, box, detail), h("div", { class: "reading" }, pane, more, figures, finding, questions, options)),
  );

  let answer = null; // the latest response, with its request
  let limit = FIRST_LIMIT;
  let drawings = []; // the elements of the tokens: the text, and the list
  let pinned = null; // index of the pinned token
  let listed = null; // content of the list: "none", "ids" or "bytes"
  let pointing = 0;
  let telling = 0;

  function toggle(name, label, title) {
    const input = h("input", { type: "checkbox", on: { change: () => app.set({ [name]: input.checked, token: undefined }) } });
    return Object.assign(h("label", { class: "toggle", title }, input, label), { input });
  }

  function question([classic, words]) {
    return h("button", { type: "button", class: "question", on: { click: () => app.go({ view: "classics", classic }) } }, say(words));
  }

  function listChoice([value, label]) {
    const properties = { type: "radio", name: "list", value, checked: value === "none" };
    return h("label", {}, h("input", { ...properties, on: { change: () => app.set({ list: value === "none" ? undefined : value }) } }), say(label));
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
      finding.replaceChildren();
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
    const text = app.draw(drawing, { label: say("Tokens"), onToken, total: answer.num_tokens });
    drawings = [text];
    pane.replaceChildren(text);
    drawFigures();
    drawFinding();
    drawMore();
    drawList(listKind(app.state));
    detail.replaceChildren(invitation());
    pin(app.state.token);
    telling = setTimeout(() => app.say(figureRows().map(([name, value]) => `${value} ${name}`).join(say(", "))), TELL_AFTER_MS);
  }

  /** Cancels timers that refer to the previous response. */
  function stopTimers() {
    clearTimeout(telling);
    clearTimeout(pointing);
  }

  function figureRows() {
    const { num_tokens, num_bytes, num_chars } = answer;
    return [
      [say("tokens"), number(num_tokens)],
      [say("characters"), number(num_chars)],
      [say("bytes"), number(num_bytes)],
      [say("bytes per token"), num_tokens ? (num_bytes / num_tokens).toFixed(2) : "–"],
    ];
  }

  function drawFigures() {
    figures.replaceChildren(...figureRows().map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  }

  /** One sentence about the most telling word of the text. */
  function drawFinding() {
    const seen = observed(answer);
    finding.replaceChildren(...(seen ? [...sayNodes(seen.message, seen.values), gap(), whyButton(seen.at)] : []));
  }

  /** A button that opens the Why view at a token's pretoken. */
  function whyButton(index) {
    const { tokenizer, text, special, drawing } = answer;
    const act = async () => {
      const byte = drawing.byte_starts[index];
      const { pretokens } = await app.ask("why", { tokenizer, text, special });
      const at = pretokens.findIndex(({ byte_span: [start, end] }) => start <= byte && byte < end);
      app.go({ view: "why", pretoken: Math.max(at, 0), step: undefined, example: undefined });
    };
    const fail = (error) => finding.append(failure(error));
    return h("button", { type: "button", class: "link", on: { click: () => act().catch(fail) } }, say("See why"));
  }

  function drawMore() {
    const { drawing, num_tokens } = answer;
    const shown = drawing.ids.length;
    more.hidden = shown === num_tokens;
    if (more.hidden) return;
    const next = Math.min(shown * 5, num_tokens, MAX_LIMIT);
    const act = () => { limit = next; update(app.state); };
    const button = next > shown ? h("button", { type: "button", on: { click: act } }, say("Draw {number}", { number: number(next) })) : say("That is the maximum.");
    more.replaceChildren(say("The first {number} of {tokens} are drawn; the counts are of the whole text.", { number: number(shown), tokens: counted(num_tokens, "token") }), " ", button);
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
    const element = app.draw(answer.drawing, { label: as === "ids" ? say("Tokens as ids") : say("Tokens as bytes"), as, onToken, total: answer.num_tokens });
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
    app.set({ token: index });
  }

  /** Pins the token of the address, which may have been written for another text. */
  function pin(index) {
    if (!Number.isInteger(index) || index < 0 || index >= answer.drawing.ids.length) return;
    pinned = index;
    look(index, { scroll: true });
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
    app.set({ token: undefined });
  }

  function invitation() {
    return h("p", { class: "invitation" }, say("Point at a token for its number and its bytes."));
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
    return h("p", { class: "shares" }, say("Shares a character with {neighbors}: ids {ids}.", { neighbors: counted(end - first - 1, "neighbor"), ids: ids.slice(first, end).join(", ") }));
  }

  /** Occurrences of the same id, with buttons to move between them. */
  function places(index, id) {
    const { ids, char_starts, char_ends } = answer.drawing;
    const all = [];
    for (let other = ids.indexOf(id); other !== -1; other = ids.indexOf(id, other + 1)) all.push(other);
    const at = all.indexOf(index);
    const where = charactersOf(char_starts[index], char_ends[index]);
    const go = (step) => {
      pinned = all[(at + step + all.length) % all.length];
      look(pinned, { scroll: true });
      detail.querySelector(step < 0 ? ".previous" : ".next")?.focus();
      app.set({ token: pinned });
    };
    const button = (name, label, step, sign) => h("button", { type: "button", class: name, "aria-label": label, on: { click: () => go(step) } }, sign);
    const many = all.length > 1;
    return h(
      "p",
      { class: "places" },
      many ? button("previous", say("previous occurrence"), -1, "‹") : null,
      many ? say("occurrence {number} of {count}: {where}", { number: number(at + 1), count: number(all.length), where }) : say("Only occurrence: {where}", { where }),
      many ? button("next", say("next occurrence"), 1, "›") : null,
    );
  }

  // ── text box ──────────────────────────────────────────────────────────────────────────────────────────────────────

  function followCaret(start, end) {
    if (!answer || answer.text !== app.state.text) return;
    if (start === 0 && end === answer.text.length && answer.drawing.ids.length > 1) return; // the whole text is no token
    const index = tokenAt(answer.drawing, codePoints(answer.text, start));
    if (index === pinned) return;
    pinned = index;
    look(index, { scroll: true });
  }

  function selectText(index) {
    const { char_starts, char_ends } = answer.drawing;
    if (answer.text === app.state.text) box.select(units(answer.text, char_starts[index]), units(answer.text, char_ends[index]));
  }

  function exported() {
    if (!answer) return null;
    const { drawing, tokenizer, text, special, template, num_tokens, num_bytes, num_chars } = answer;
    const name = captionName(tokenizer);
    return {
      elements: drawings,
      file: "tokens",
      facts: [name, counted(num_tokens, "token")],
      ids: [[name, drawing.ids]],
      data: () => ({ tokenizer: name, text, special, template, num_tokens, num_bytes, num_chars, tokens: tokensOf(drawing) }),
      ...callOnText(app, { tokenizer, text, method: "tokenize", words: ["encode"], special, template }),
      token: pinned !== null,
      partial: drawing.ids.length < num_tokens ? drawing.ids.length : undefined,
      ready: Promise.all(drawings.map((element) => element.filled)),
    };
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
      if (as !== "none") options.open = true;
      if (drawings.length && as !== listed) drawList(as);
      if (drawings.length && answer.text === state.text && (state.token ?? null) !== pinned && state.token !== undefined) pin(state.token);
    },
    hide() {},
    exported,
  };
}

const listKind = (state) => (Object.hasOwn(LISTS, state.list) ? state.list : "none");

/** The characters of a token in words, counted from 1. */
function charactersOf(start, end) {
  if (start === end) return start ? say("no characters, after character {number}", { number: number(start) }) : say("no characters, at the beginning");
  if (end - start === 1) return say("character {number}", { number: number(end) });
  return say("characters {start} to {end}", { start: number(start + 1), end: number(end) });
}

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
