// Compare view: up to four tokenizers on one text, side by side; and token counts of a paragraph in twenty languages.

import { textOf } from "../textbox.js";
import { bar, choice, examples, inOneLine, onOtherTokenizers } from "../widgets.js";
import { failure, h, number } from "../dom.js";
import { counted } from "../language.js";

const MOST = 4;
const CUTS = 100; // positions listed
const AROUND = 14; // characters of context on each side
const EXAMPLES = {
  code: { example: 'def greet(name):\n    if name:\n        return f"Hello, {name}!"\n' },
  numbers: { example: "3.14159 and 1,000,000 in 2026, 12345678 or 0x7fff" },
  languages: { example: "naïve café, Straße, 天气很好, погода, שלום, नमस्ते" },
  emoji: { example: "👍 👩‍👩‍👧 🇫🇷 ❤️" },
};

export function mount(root, app) {
  const ask = app.latest();
  const askParagraph = app.latest();
  const chosen = h("div", { class: "chosen", role: "group", "aria-label": "Tokenizers to compare" });
  const box = app.textBox({ rows: 4 });
  const row = examples(app, EXAMPLES);
  const special = h("input", { type: "checkbox", on: { change: () => app.set({ special: special.checked }) } });
  const found = h("div", { class: "found" });
  const languages = h("div", { class: "languages" });
  const sort = choice("Order", [["listed", "as listed"], ["cost", "by count of the first tokenizer"]], (value) => app.set({ sort: value === "listed" ? undefined : value }));
  const reading = h("div", { class: "paragraph", hidden: true });
  root.append(
    chosen,
    box,
    row,
    h("div", { class: "options" }, h("label", { class: "toggle" }, special, "Parse special tokens")),
    found,
    h(
      "section",
      { class: "costs" },
      h("h2", {}, "One paragraph in twenty languages"),
      h("p", {}, "One paragraph, written for this page and translated into nineteen languages. If the training corpus had little text of a language, a tokenizer needs more tokens for it: the same content costs more, and takes more of the context window. Bars are token counts; × is the ratio to English with the same tokenizer."),
      sort,
      languages,
      reading,
    ),
  );

  let asked = "";
  let askedText = null;
  let askedKeys = "";
  let costs = null;
  let failed = false; // whether to retry when a file is opened

  const keys = (state) => {
    const wanted = Array.isArray(state.compare) ? state.compare.filter((key) => typeof key === "string") : [];
    if (wanted.length) return [...new Set(wanted)].slice(0, MOST);
    return app.tokenizers().filter((entry) => !entry.error).slice(0, 2).map((entry) => entry.key);
  };
  const nameOf = (key) => app.tokenizers().find((entry) => entry.key === key)?.name ?? key;

  // ── tokenizers ─────────────────────────────────────────────────────────────────────────────────────────────────────

  let shownChoice = "";

  function drawChosen(state) {
    const picked = keys(state);
    const all = app.tokenizers();
    const now = JSON.stringify([picked, all.map((entry) => [entry.key, entry.error])]);
    if (now === shownChoice) return;
    shownChoice = now;
    const change = (next) => app.go({ compare: next });
    const items = picked.map((key, index) => {
      const select = h("select", { "aria-label": `Tokenizer ${index + 1}`, on: { change: () => change(picked.map((old, i) => (i === index ? select.value : old))) } });
      const known = all.some((entry) => entry.key === key) ? all : [{ key, name: `${key} (not on this machine)` }, ...all];
      const free = known.filter((entry) => entry.key === key || !picked.includes(entry.key));
      select.append(...free.map((entry) => h("option", { value: entry.key }, entry.name)));
      select.value = key;
      const remove = h("button", { type: "button", "aria-label": `Remove ${nameOf(key)}`, on: { click: () => change(picked.filter((old) => old !== key)) } }, "×");
      return h("div", { class: `pick n${index}` }, select, picked.length > 1 ? remove : null);
    });
    const others = all.filter((entry) => !entry.error && !picked.includes(entry.key));
    const add = h("button", { type: "button", on: { click: () => change([...picked, others[0].key]) } }, "Add a tokenizer");
    const label = (element) => element.getAttribute("aria-label") ?? element.textContent;
    const focused = chosen.contains(document.activeElement) ? label(document.activeElement) : null;
    chosen.replaceChildren(...items, ...(picked.length < MOST && others.length ? [add] : []));
    if (focused === null) return; // else restore the keyboard focus
    const controls = [...chosen.querySelectorAll("select, button")];
    (controls.find((element) => label(element) === focused) ?? controls.at(-1)).focus();
  }

  // ── the text ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async function update(state) {
    const tokenizers = keys(state);
    const question = JSON.stringify([tokenizers, state.special]);
    const text = textOf(state);
    if (askedText === text && asked === question) return;
    [asked, askedText] = [question, text];
    if (!text) {
      found.replaceChildren(h("p", { class: "hint" }, "Write or paste a text to compare its token boundaries."));
      return;
    }
    root.setAttribute("aria-busy", "true");
    try {
      const answer = await ask("compare", { tokenizers, text, special: state.special });
      if (answer === null || askedText !== text) return;
      draw(answer, tokenizers, askedText);
      failed = answer.failed.length > 0;
    } catch (error) {
      failed = true;
      found.replaceChildren(failure(error));
    }
    root.removeAttribute("aria-busy");
  }

  /** Errors of tokenizers that are not compared; the others keep their colors. */
  const failures = (all) => all.map(({ key, error }) => failure({ message: `${nameOf(key)}: ${error}` }));

  function draw(answer, chosen, text) {
    const { spread, cuts, drawings } = answer;
    const tokenizers = answer.tokenizers.map((entry) => ({ ...entry, tone: chosen.indexOf(entry.name) }));
    const most = Math.max(...tokenizers.map((entry) => entry.tokens), 1);
    const anyUnknown = tokenizers.some((entry) => entry.unknown);
    const heads = ["tokenizer", "tokens", "bytes per token", "own tokens", ...(anyUnknown ? ["unknown"] : [])];
    const row = ({ name, tone, tokens, bytes_per_token, own, unknown }) =>
      h(
        "tr",
        { class: `n${tone}` },
        h("th", { scope: "row" }, nameOf(name)),
        h("td", {}, h("span", { class: "measure" }, bar(tokens / most, `n${tone}`), h("span", { class: "figure" }, number(tokens)))),
        h("td", { class: "figure" }, bytes_per_token.toFixed(3)),
        h("td", { class: "figure" }, number(own.length)),
        anyUnknown ? h("td", { class: unknown ? "figure wrong" : "figure" }, number(unknown)) : null,
      );
    const table = h(
      "table",
      { class: "counts" },
      h("thead", {}, h("tr", {}, ...heads.map((head, index) => h("th", { scope: "col", class: index > 1 ? "figure" : null }, head)))),
      h("tbody", {}, ...tokenizers.map(row)),
    );
    const summary = tokenizers.length > 1
      ? `The highest token count is ${(spread * 100).toFixed(1)}% above the lowest. Boundaries differ at ${counted(cuts.length, "position")}; a ring marks a token that no other tokenizer has there.`
      : chosen.length > 1 ? "The other tokenizers failed." : "Add a tokenizer to compare.";
    const part = answer.compared_chars < answer.num_chars
      ? [h("p", { class: "hint" }, `Counts are of the whole text; its first ${number(answer.compared_chars)} characters are compared and drawn.`)]
      : [];
    const columns = tokenizers.map((entry, index) => column(entry, drawings[index], tokenizers.length === 1));
    found.replaceChildren(...failures(answer.failed), h("div", { class: "scroll" }, table), h("p", { class: "summary" }, summary), ...part, h("h2", { class: "unseen" }, "Side by side"), h("div", { class: "side-by-side" }, ...columns), placesOf(cuts, tokenizers, text));
    app.say(`${tokenizers.map((entry) => `${nameOf(entry.name)}: ${counted(entry.tokens, "token")}`).join(", ")}. ${summary}`);
  }

  function column({ name, tone, own }, drawing, alone) {
    const title = nameOf(name);
    const ring = new Set(alone ? [] : own); // with one tokenizer, all tokens are its own
    const line = h("p", { class: "one-line", "aria-live": "polite" }, "\u00a0");
    const tokens = app.draw(drawing, {
      label: `Tokens of ${title}`,
      mark: (place) => (ring.has(place) ? "ring" : ""),
      onToken: (place) => {
        line.textContent = place === null ? "\u00a0" : inOneLine(drawing, place);
        if (place !== null) tokens.look(place);
      },
    });
    return h("section", { class: `column n${tone}` }, h("h3", {}, title), h("div", { class: "pane" }, tokens), line);
  }

  /** Table of the boundaries that differ, with their context. */
  function placesOf(cuts, tokenizers, text) {
    if (!cuts.length) return null;
    const bytes = new TextEncoder().encode(text);
    const decoder = new TextDecoder();
    const around = (from, to) => decoder.decode(bytes.slice(Math.max(from, 0), to)).replaceAll("\ufffd", "");
    const row = ([place, by]) => {
      const inside = (bytes[place] & 0xc0) === 0x80;
      const left = around(place - 4 * AROUND, place).slice(-AROUND);
      const right = around(place, place + 4 * AROUND).slice(0, AROUND);
      const yes = ({ tone }, index) => h("td", { class: `who n${tone}` }, by.includes(index) ? h("span", {}, "boundary") : h("span", { class: "no" }, "–"));
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, number(place)),
        h("td", { class: "around", dir: "auto" }, left, h("span", { class: "cut", "aria-hidden": "true" }, "│"), right, inside ? h("span", { class: "note" }, " inside a character") : null),
        ...tokenizers.map(yes),
      );
    };
    const heads = ["byte", "context", ...tokenizers.map((entry) => nameOf(entry.name))];
    const more = cuts.length > CUTS ? [h("p", { class: "hint" }, `The first ${CUTS} of ${number(cuts.length)} positions.`)] : [];
    return h(
      "details",
      { class: "places" },
      h("summary", {}, `Where boundaries differ: ${counted(cuts.length, "position")}`),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Where boundaries differ" }, h("table", {}, h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, ...cuts.slice(0, CUTS).map(row)))),
      ...more,
    );
  }

  // ── the paragraph ────────────────────────────────────────────────────────────────────────────────────────────────

  let shownCosts = "";

  async function updateParagraph(state) {
    const tokenizers = keys(state);
    const question = JSON.stringify(tokenizers);
    if (askedKeys !== question) {
      askedKeys = question;
      try {
        const answer = await askParagraph("paragraph", { tokenizers });
        if (answer === null) return;
        costs = { ...answer, chosen: tokenizers };
      } catch (error) {
        costs = null;
        shownCosts = "";
        languages.replaceChildren(failure(error));
      }
    }
    if (costs) drawCosts(app.state);
  }

  function drawCosts(state) {
    const order = state.sort === "cost" ? "cost" : "listed";
    sort.select.value = order;
    const now = JSON.stringify([costs.chosen, costs.failed, order, state.language]);
    if (now === shownCosts) return;
    shownCosts = now;
    const { languages: all, tokenizers, chosen } = costs;
    const tones = tokenizers.map((key) => chosen.indexOf(key));
    const [english] = all;
    const rows = order === "cost" ? [...all].sort((a, b) => (b.counts[0] ?? -1) - (a.counts[0] ?? -1)) : all;
    const most = Math.max(...all.flatMap((language) => language.counts.map((count) => count ?? 0)), 1);
    const cell = (language, index) => {
      const count = language.counts[index];
      if (count === null) return h("td", { class: "wrong" }, "cannot be encoded");
      const times = english.counts[index] ? `×${(count / english.counts[index]).toFixed(2)}` : "";
      const unknown = language.unknown[index];
      return h(
        "td",
        {},
        h("span", { class: "measure" }, bar(count / most, unknown ? `n${tones[index]} lost` : `n${tones[index]}`), h("span", { class: "figure" }, number(count)), h("span", { class: "times" }, times)),
        unknown ? h("span", { class: "wrong small" }, `${number(unknown)} of them unknown`) : null,
      );
    };
    const row = (language) => {
      const open = state.language === language.code;
      const press = { click: () => app.set({ language: open ? undefined : language.code }) };
      const button = h("button", { type: "button", class: "link", "aria-expanded": String(open), on: press }, language.name);
      return h("tr", {}, h("th", { scope: "row" }, button), ...tokenizers.map((_, index) => cell(language, index)));
    };
    const heads = [h("th", { scope: "col" }, "language"), ...tokenizers.map((key, index) => h("th", { scope: "col", class: `n${tones[index]}` }, nameOf(key)))];
    const focused = languages.contains(document.activeElement) ? document.activeElement.textContent : null;
    languages.replaceChildren(...failures(costs.failed), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Token counts by language" }, h("table", { class: "chart" }, h("caption", { class: "unseen" }, "Tokens of the paragraph by language and tokenizer"), h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows.map(row)))));
    if (focused) [...languages.querySelectorAll("button")].find((button) => button.textContent === focused)?.focus();
    drawReading(all.find((language) => language.code === state.language));
  }

  function drawReading(language) {
    reading.hidden = !language;
    if (!language) return;
    const use = h("button", { type: "button", on: { click: () => { app.go({ example: language.text }); root.scrollIntoView({ block: "start" }); } } }, "Compare its tokens above");
    reading.replaceChildren(
      h("h3", {}, `${language.name} · `, h("span", { lang: language.code }, language.own_name)),
      h("p", { lang: language.code, dir: "auto" }, language.text),
      h("p", { class: "hint" }, `${counted(language.chars, "character")}, ${counted(language.bytes, "byte")}`),
      use,
    );
  }

  onOtherTokenizers(app, () => {
    if (failed) asked = "";
    if (!costs || costs.failed.length) askedKeys = "";
    if (!root.hidden) show(app.state);
  });

  function show(state) {
    box.show(state);
      row.show(state);
    special.checked = state.special;
    drawChosen(state);
    update(state);
    updateParagraph(state);
  }

  return { show, hide() {} };
}
