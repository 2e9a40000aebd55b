// All about one token: id, bytes, spelling, rank, and the tree of merges that built it.

import { failure, h, number } from "./dom.js";
import { shownText } from "./draw.js";

/**
 * @param {Object} app
 * @param {string} tokenizer  its key
 * @param {number} id
 * @param {{extra?: Array<Node>}} options  what a view has to add
 * @returns {HTMLElement} which fills when the answer is there; `ready` is a promise of that
 */
export function tokenCard(app, tokenizer, id, { extra = [] } = {}) {
  const body = h("div", { class: "body" });
  const root = h("article", { class: "card", "aria-label": `Token ${id}` }, body, ...extra);
  root.ready = fill(app, body, tokenizer, id);
  return root;
}

async function fill(app, body, tokenizer, id) {
  try {
    const facts = await app.ask("token", { tokenizer, id });
    const row = (name, ...value) => [h("dt", {}, name), h("dd", {}, ...value)];
    body.replaceChildren(
      h(
        "dl",
        {},
        ...row("id", String(facts.id)),
        ...row("bytes", h("code", {}, facts.hex.replace(/..(?!$)/g, "$& ") || "none")),
        ...row("spelling", h("code", {}, facts.spelling)),
        ...(facts.rank === null || facts.rank === undefined ? [] : row("rank", number(facts.rank))),
        ...(facts.special ? row("kind", "special token") : []),
      ),
    );
  } catch (error) {
    body.replaceChildren(failure(error));
  }
}
