// Classics view: frequently discussed texts, each with an explanation and tokenizations by real tokenizers.

import { call, captionName, program, python, sourceOf } from "../exports/calls.js";
import { tokensOf } from "../exports.js";
import { inLanguages, inOneLine, onOtherTokenizers } from "../widgets.js";
import { failure, h } from "../dom.js";
import { counted, say } from "../language.js";

export function mount(root, app) {
  const ask = app.latest();
  const list = h("ul", { class: "titles" });
  const select = h("select", { "aria-label": say("Classics"), on: { change: () => app.go({ classic: select.value }) } }); // in place of the list on narrow screens
  const story = h("article", { class: "story", "aria-live": "polite" });
  root.append(h("nav", { "aria-label": say("Classics") }, select, list), story);

  let titles = null; // the response, or a promise of it
  let shown = ""; // the displayed classic and the tokenizers
  let classic = null; // the displayed answer

  async function update(state) {
    try {
      titles ??= app.ask("classics", {});
      const { classics } = await titles;
      const id = classics.some((classic) => classic.id === state.classic) ? state.classic : classics[0].id;
      if (!list.childElementCount) {
        list.append(...classics.map(title));
        select.append(...classics.map(({ id, title }) => h("option", { value: id }, title)));
      }
      select.value = id;
      for (const button of list.querySelectorAll("button")) button.setAttribute("aria-current", String(button.dataset.id === id));
      const now = JSON.stringify([id, app.tokenizers().map((entry) => entry.key)]);
      if (now === shown) return;
      shown = now;
      root.setAttribute("aria-busy", "true");
      const found = await ask("classics", { id });
      if (found !== null) draw((classic = found));
    } catch (error) {
      titles = null;
      classic = null;
      shown = "";
      story.replaceChildren(failure(error));
    }
    root.removeAttribute("aria-busy");
  }

  function title({ id, title }) {
    return h("li", {}, h("button", { type: "button", data: { id }, on: { click: () => app.go({ classic: id }) } }, ...inLanguages(title)));
  }

  function draw(classic) {
    const compare = classic.state
      ? [h("p", {}, h("button", { type: "button", on: { click: () => app.go(classic.state) } }, say("Compare these side by side")))]
      : [];
    const recorded = classic.panels.some((panel) => panel.recorded)
      ? [h("p", { class: "hint" }, say("Tokenizations marked as recorded were computed with the real vocabulary, which is not loaded here. Open its file to compute them."))]
      : [];
    story.replaceChildren(
      h("h2", {}, ...inLanguages(classic.title)),
      ...classic.story.map((paragraph) => h("p", { class: "telling" }, ...inLanguages(paragraph))),
      ...recorded,
      ...classic.panels.map(panel),
      ...compare,
    );
  }

  function panel({ tokenizer, note, drawing, num_tokens, recorded, special, state }) {
    const line = h("p", { class: "one-line" }, "\u00a0");
    const tokens = app.draw(drawing, {
      label: say("Tokens of {part}", { part: tokenizer }),
      onToken: (index) => {
        line.textContent = index === null ? "\u00a0" : inOneLine(drawing, index);
        if (index !== null) tokens.look(index);
      },
    });
    const badge = recorded ? h("span", { class: "badge" }, say("recorded")) : null;
    const open = state ? h("button", { type: "button", class: "link", on: { click: () => app.go(state) } }, say("Open in Tokens")) : null;
    return h(
      "section",
      { class: "panel" },
      h("h3", {}, h("span", { translate: "no" }, tokenizer), " · ", counted(num_tokens, "token"), special ? ` · ${say("special tokens parsed")}` : "", " ", badge),
      note ? h("p", { class: "note" }, note) : null,
      h("div", { class: "pane" }, tokens),
      h("div", { class: "under" }, line, open),
    );
  }

  onOtherTokenizers(app, () => {
    if (!root.hidden) update(app.state);
  });

  function exported() {
    if (!classic) return null;
    const { id, title, panels } = classic;
    const sources = panels.map(({ key }) => (key ? sourceOf(app, key) : null));
    const line = ({ text, special }, index) => call(`jeton.load(${python(sources[index])}).tokenize`, [python(text)], { special: special ? "all" : undefined });
    return {
      elements: [story],
      file: id,
      facts: [title, ...panels.map(({ tokenizer, num_tokens }) => `${captionName(tokenizer)}: ${counted(num_tokens, "token")}`)],
      data: () => ({ title, panels: panels.map(({ tokenizer, text, special, recorded, num_tokens, drawing }) => ({ tokenizer, text, special, recorded, num_tokens, tokens: tokensOf(drawing) })) }),
      python: sources.includes(null) ? null : program(...panels.map(line)),
      shell: null,
    };
  }

  return { show: update, hide() {}, exported };
}
