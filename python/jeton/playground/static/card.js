// Card of one token: display form, id, bytes, spelling, merge number, and merge tree.

import { failure, h, number } from "./dom.js";
import { say } from "./language.js";
import { mergeTree } from "./tree.js";
import { chip } from "./widgets.js";

const KEPT = 500; // capacity of the cache of responses
const answers = new Map();

/**
 * @param {Object} app
 * @param {string} tokenizer  key of the tokenizer
 * @param {number} id
 * @param {Object} options
 * @param {Object} [options.look]  entry of a drawing's table; default: from the response
 * @param {Array<Node|null>} [options.extra]  nodes that a view adds
 * @param {() => void} [options.close]  action of the close button and of Escape; without it there is no button
 * @returns {HTMLElement} an element that is filled by the response; `ready` is a promise of that
 */
export function tokenCard(app, tokenizer, id, { look = null, extra = [], close } = {}) {
  const body = h("div", { class: "body" });
  const face = h("p", { class: "face tokens" });
  const closing = close ? h("button", { type: "button", class: "close", "aria-label": say("Close"), title: say("Close (Escape)"), on: { click: close } }, "×") : null;
  const root = h("article", { class: "card", "aria-label": say("Token {id}", { id }) }, h("h2", { class: "unseen" }, say("One token")), closing, face, body, ...extra);
  if (look) drawFace(face, look);
  root.ready = fill(app, face, body, tokenizer, id, look);
  return root;
}

function drawFace(face, look) {
  face.replaceChildren(chip({ ...look, parts: look.parts.map(bytesAlone) }));
}

/** A part without the split character that its bytes begin: ⟨e7⟩ for ⟨猫 e7⟩. */
function bytesAlone(part) {
  const [kind, shown, text, side, cut] = part;
  if (!cut) return part;
  const [, start, end] = cut;
  return [kind, `⟨${shown.slice(-3 * (end - start))}`, text, side];
}

async function fill(app, face, body, tokenizer, id, look) {
  let facts;
  try {
    facts = await cached(app, tokenizer, id);
  } catch (error) {
    body.replaceChildren(failure(error));
    return;
  }
  if (!look) drawFace(face, facts.look);
  const row = (name, ...value) => [h("dt", {}, name), h("dd", {}, ...value)];
  const rows = [
    ...row(say("id"), String(facts.id)),
    ...row(say("bytes"), h("code", {}, facts.hex.replace(/..(?!$)/g, "$& ") || say("none"))),
    ...row(say("spelling"), h("code", {}, facts.spelling)),
    ...(facts.rank === null ? [] : row(say("merge number"), number(facts.rank - facts.first_rank + 1))),
    ...(facts.special ? row(say("kind"), say("special token")) : []),
  ];
  body.replaceChildren(h("dl", {}, ...rows), ...mergeTree(facts.tree, facts.first_rank));
}

/** Clears the cache, after a restart of the server. */
export const forgetCards = () => answers.clear();

/** Scrolls so that the card, an overlay on narrow screens, does not cover an element. */
export function uncover(detail, element) {
  if (getComputedStyle(detail).position !== "fixed") return;
  const covered = element.getBoundingClientRect().bottom + 16 - detail.getBoundingClientRect().top;
  if (covered > 0) scrollBy(0, covered);
}

async function cached(app, tokenizer, id) {
  const key = JSON.stringify([tokenizer, id]);
  if (!answers.has(key)) {
    answers.set(key, await app.ask("token", { tokenizer, id }));
    if (answers.size > KEPT) answers.delete(answers.keys().next().value);
  }
  return answers.get(key);
}
