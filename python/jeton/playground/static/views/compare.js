// Compare view: up to four tokenizers on one text, side by side, the verdict first; and token counts of a paragraph in
// twenty languages.
//
// Lines of the text are aligned between the columns. Equal tokens have equal colors, because colors are of the bytes.

import { isStatic } from "../ask.js";
import { textOf } from "../textbox.js";
import { bar, choice, examples, inOneLine, onOtherTokenizers } from "../widgets.js";
import { call, captionName, command, fits, program, python, sourceOf } from "../exports/calls.js";
import { tokensOf } from "../exports.js";
import { figuresTable } from "./compare/figures.js";
import { sharedRows } from "./compare/rows.js";
import { failure, h, number } from "../dom.js";
import { counted, gap, message, say } from "../language.js";

const MOST = 4;
const CUTS = 100; // positions listed
const AROUND = 14; // characters of context on each side
const EXAMPLES = {
  [message("code")]: { example: 'def greet(name):\n    if name:\n        return f"Hello, {name}!"\n' },
  [message("numbers")]: { example: "3.14159 and 1,000,000 in 2026, 12345678 or 0x7fff" },
  [message("several languages")]: { example: "naïve café, Straße, 天气很好, погода, שלום, नमस्ते" },
  [message("emoji")]: { example: "👍 👩‍👩‍👧 🇫🇷 ❤️" },
};

const percent = (share) => (share < 0.0995 ? (share * 100).toPrecision(2) : (share * 100).toFixed(0));
// A character in a sentence: one that would not be visible there by its number.
const nameOfCharacter = (character) => (/[\p{C}\p{M}\p{Z}]/u.test(character) ? `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}` : character);
const amount = (value) => (value >= 100 ? number(Math.round(value)) : value.toPrecision(3));

export function mount(root, app) {
  const ask = app.latest();
  const askParagraph = app.latest();
  const chosen = h("div", { class: "chosen", role: "group", "aria-label": say("Tokenizers to compare") });
  const box = app.textBox({ rows: 3 });
  const row = examples(app, EXAMPLES);
  const special = h("input", { type: "checkbox", on: { change: () => app.set({ special: special.checked }) } });
  const found = h("div", { class: "found" });
  const money = figuresTable(app);
  const languages = h("div", { class: "languages" });
  const sort = choice(say("Order"), [["listed", say("as listed")], ["cost", say("by count of the first tokenizer")]], (value) => app.set({ sort: value === "listed" ? undefined : value }));
  const reading = h("div", { class: "paragraph", hidden: true });
  root.append(
    chosen,
    box,
    row,
    found,
    h("details", { class: "settings" }, h("summary", {}, say("Price and context window")), money),
    h("details", { class: "settings" }, h("summary", {}, say("Options")), h("div", { class: "options" }, h("label", { class: "toggle" }, special, say("Parse special tokens")))),
    h(
      "section",
      { class: "costs" },
      h("h2", {}, say("One paragraph in twenty languages")),
      h("p", {}, say("One paragraph, translated into nineteen languages. If the training corpus had little text of a language, a tokenizer needs more tokens for it: the same content costs more, and takes more of the context window. Bars are token counts; × is the ratio to English with the same tokenizer.")),
      sort,
      languages,
      reading,
    ),
  );

  let asked = "";
  let askedText = null;
  let shown = null; // the latest response, with its tokenizers and text
  let shownFigures = "";
  let askedKeys = "";
  let costs = null;
  let failed = false; // whether to retry when a file is opened

  const keys = (state) => {
    const wanted = Array.isArray(state.compare) ? state.compare.filter((key) => typeof key === "string") : [];
    if (wanted.length) return [...new Set(wanted)].slice(0, MOST);
    if (isStatic) return [state.tokenizer]; // another one is fetched only after a click
    const others = app.tokenizers().filter((entry) => !entry.error && entry.key !== state.tokenizer);
    return [state.tokenizer, ...others.map((entry) => entry.key)].slice(0, 2);
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
      const label = say("Tokenizer {number}", { number: index + 1 });
      const picker = app.picker({ label, without: () => picked.filter((old) => old !== key), onChoose: (next) => change(picked.map((old, i) => (i === index ? next : old))) });
      picker.show(key);
      const remove = h("button", { type: "button", "aria-label": say("Remove {name}", { name: nameOf(key) }), on: { click: () => change(picked.filter((old) => old !== key)) } }, "×");
      return h("div", { class: `pick n${index}` }, picker, picked.length > 1 ? remove : null);
    });
    if (picked.length < MOST) items.push(app.picker({ label: say("+ compare"), placeholder: say("+ compare"), without: () => picked, onChoose: (key) => change([...picked, key]) }));
    const label = (element) => element.getAttribute("aria-label");
    const focused = chosen.contains(document.activeElement) ? label(document.activeElement) : null;
    chosen.replaceChildren(...items);
    if (focused === null) return; // else restore the keyboard focus
    const controls = [...chosen.querySelectorAll("input, button")];
    (controls.find((element) => label(element) === focused) ?? controls.at(-1)).focus();
  }

  // ── the text ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async function update(state) {
    const tokenizers = keys(state);
    const question = JSON.stringify([tokenizers, state.special]);
    const text = textOf(state);
    const isSame = askedText === text && asked === question;
    if (isSame && shown && figuresOf(state) !== shownFigures) draw(...shown);
    if (isSame) return;
    [asked, askedText] = [question, text];
    if (!text) {
      shown = null;
      found.replaceChildren(h("p", { class: "hint" }, say("Write or paste a text to compare its token boundaries.")));
      return;
    }
    root.setAttribute("aria-busy", "true");
    try {
      const answer = await ask("compare", { tokenizers, text, special: state.special });
      if (answer === null || askedText !== text) return;
      shown = [answer, tokenizers, askedText];
      draw(...shown);
      failed = answer.failed.length > 0;
    } catch (error) {
      failed = true;
      shown = null;
      found.replaceChildren(failure(error));
    }
    root.removeAttribute("aria-busy");
  }

  /** Errors of tokenizers that are not compared; the others keep their colors. */
  const failures = (all) => all.map(({ key, error }) => failure({ message: `${nameOf(key)}: ${error}` }));

  const figuresOf = (state) => JSON.stringify(state.figures ?? {});

  function draw(answer, chosen, text) {
    const { cuts, drawings, num_chars } = answer;
    shownFigures = figuresOf(app.state);
    const tokenizers = answer.tokenizers.map((entry) => ({ ...entry, tone: chosen.indexOf(entry.name) }));
    const summary = [verdict(tokenizers), tokenizers.length > 1 ? say("Boundaries differ at {positions}. A ring marks a token that only this tokenizer has at that position.", { positions: counted(cuts.length, "position") }) : null];
    const part = answer.compared_chars < num_chars
      ? h("p", { class: "hint" }, say("Counts are of the whole text; its first {number} characters are compared and drawn.", { number: number(answer.compared_chars) }))
      : null;
    const rows = sharedRows(drawings, text.slice(0, 2 * answer.compared_chars));
    const columns = tokenizers.map((entry, index) => column(entry, drawings[index], rows[index], tokenizers.length === 1));
    const beside = h("div", { class: "side-by-side" }, ...columns);
    beside.style.setProperty("--columns", columns.length);
    beside.style.setProperty("--rows", rows[0].length);
    const parts = [
      ...failures(answer.failed),
      h("p", { class: "verdict" }, summary[0]),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": say("Counts") }, countsTable(tokenizers, num_chars)),
      h("h2", { class: "unseen" }, say("Side by side")),
      beside,
      part,
      summary[1] ? h("p", { class: "hint summary" }, summary[1]) : null,
      placesOf(cuts, tokenizers, text),
    ];
    found.replaceChildren(...parts.filter(Boolean));
    app.say(`${tokenizers.map((entry) => `${nameOf(entry.name)}: ${counted(entry.tokens, "token")}`).join(say(", "))}${say(". ")}${summary.filter(Boolean).join(gap())}`);
  }

  /** The tokenizers that need the fewest tokens, and how many more the others need. */
  function verdict(tokenizers) {
    if (tokenizers.length === 1) {
      const [{ name, tokens }] = tokenizers;
      return say("{name} needs {tokens}.", { name: nameOf(name), tokens: counted(tokens, "token") });
    }
    const fewest = Math.min(...tokenizers.map((entry) => entry.tokens));
    const best = tokenizers.filter((entry) => entry.tokens === fewest).map((entry) => nameOf(entry.name));
    const others = tokenizers.filter((entry) => entry.tokens > fewest).sort((one, other) => one.tokens - other.tokens);
    const count = number(fewest);
    const tokens = counted(fewest, "token");
    if (!others.length) return best.length === 2 ? say("Both need {tokens}.", { tokens }) : say("All of them need {tokens}.", { tokens });
    const first = best.length === 1 ? say("{name} needs the fewest tokens ({count})", { name: best[0], count }) : say("{names} need the fewest tokens ({count})", { names: best.join(say(" and ")), count });
    const rest = others.map(({ name, tokens }) => say("{name} needs {more} more ({percent}%)", { name: nameOf(name), more: number(tokens - fewest), percent: percent(tokens / fewest - 1) }));
    return say("{first}; {rest}.", { first, rest: rest.join(say("; ")) });
  }

  /** Counts, what they mean per character, and what they cost by the user's figures. */
  function countsTable(tokenizers, num_chars) {
    const figures = app.state.figures ?? {};
    const most = Math.max(...tokenizers.map((entry) => entry.tokens), 1);
    const own = ({ name }) => (Array.isArray(figures[name]) ? figures[name] : [null, null]);
    const figure = (text, wrong = false) => h("td", { class: wrong ? "figure wrong" : "figure" }, text);
    const columns = [
      [say("tokens"), ({ tone, tokens }) => h("td", {}, h("span", { class: "measure" }, bar(tokens / most, `n${tone}`), h("span", { class: "figure" }, number(tokens))))],
      [say("characters per token"), ({ tokens }) => figure(tokens ? (num_chars / tokens).toFixed(2) : "–")],
      [say("tokens only here"), (entry) => figure(number(entry.own.length))],
    ];
    if (tokenizers.some((entry) => entry.unknown)) columns.push([say("unknown"), ({ unknown }) => figure(number(unknown), unknown > 0)]);
    if (tokenizers.some((entry) => own(entry)[0])) {
      const cost = (entry, count) => figure(own(entry)[0] ? amount((own(entry)[0] * count) / 1e6) : "–");
      columns.push([say("price of the text"), (entry) => cost(entry, entry.tokens)]);
      columns.push([say("price of a million characters"), (entry) => cost(entry, (entry.tokens / num_chars) * 1e6)]);
    }
    if (tokenizers.some((entry) => own(entry)[1])) {
      columns.push([say("share of the context window"), (entry) => figure(own(entry)[1] ? `${percent(entry.tokens / own(entry)[1])}%` : "–")]);
    }
    const row = (entry) => h("tr", { class: `n${entry.tone}` }, h("th", { scope: "row" }, nameOf(entry.name)), ...columns.map(([, cell]) => cell(entry)));
    return h(
      "table",
      { class: "counts" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, say("tokenizer")), ...columns.map(([head], index) => h("th", { scope: "col", class: index ? "figure" : null }, head)))),
      h("tbody", {}, ...tokenizers.map(row)),
    );
  }

  function column({ name, tone, own }, drawing, rows, alone) {
    const title = nameOf(name);
    const ring = new Set(alone ? [] : own); // with one tokenizer, all tokens are its own
    const line = h("p", { class: "one-line", "aria-live": "polite" }, "\u00a0");
    const tokens = app.draw(drawing, {
      label: say("Tokens of {name}", { name: title }),
      rows,
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
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const continues = (at) => (bytes[at] & 0xc0) === 0x80;
    const around = (from, to) => decoder.decode(bytes.slice(Math.max(from, 0), to)).replaceAll("\ufffd", "");
    const row = ([place, by]) => {
      let [first, end] = [place, place]; // the character that the boundary is in
      while (continues(first)) first--;
      while (continues(end)) end++;
      const inside = first < end ? decoder.decode(bytes.slice(first, end)) : null;
      const left = [...around(first - 4 * AROUND, first)].slice(-AROUND).join("");
      const right = [...around(end, end + 4 * AROUND)].slice(0, AROUND).join("");
      const sign = h("span", { class: "cut", "aria-hidden": "true" }, "│");
      if (inside) sign.style.setProperty("--at", (place - first) / (end - first));
      const note = inside ? h("span", { class: "note" }, " ", say("inside {character} (after byte {byte} of {size})", { character: nameOfCharacter(inside), byte: place - first, size: end - first })) : null;
      const yes = ({ tone }, index) => h("td", { class: `who n${tone}` }, by.includes(index) ? h("span", {}, say("boundary")) : h("span", { class: "no" }, "–"));
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, number(place)),
        h("td", { class: "around", dir: "auto" }, h("span", { translate: "no" }, left, inside ? h("span", { class: "halved" }, inside, sign) : sign, right), note),
        ...tokenizers.map(yes),
      );
    };
    const heads = [say("after byte"), say("context"), ...tokenizers.map((entry) => nameOf(entry.name))];
    const more = cuts.length > CUTS ? [h("p", { class: "hint" }, say("The first {number} of {positions}.", { number: number(CUTS), positions: counted(cuts.length, "position") }))] : [];
    return h(
      "details",
      { class: "places" },
      h("summary", {}, say("Where boundaries differ: {positions}", { positions: counted(cuts.length, "position") })),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": say("Where boundaries differ") }, h("table", {}, h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, ...cuts.slice(0, CUTS).map(row)))),
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
      if (count === null) return h("td", { class: "wrong" }, say("cannot be encoded"));
      const times = english.counts[index] ? `×${(count / english.counts[index]).toFixed(2)}` : "";
      const unknown = language.unknown[index];
      return h(
        "td",
        {},
        h("span", { class: "measure" }, bar(count / most, unknown ? `n${tones[index]} lost` : `n${tones[index]}`), h("span", { class: "figure" }, number(count)), h("span", { class: "times" }, times)),
        unknown ? h("span", { class: "wrong small" }, say("{number} of them unknown", { number: number(unknown) })) : null,
      );
    };
    const row = (language) => {
      const open = state.language === language.code;
      const press = { click: () => app.set({ language: open ? undefined : language.code }) };
      const button = h("button", { type: "button", class: "link", "aria-expanded": String(open), on: press }, language.name);
      return h("tr", {}, h("th", { scope: "row" }, button), ...tokenizers.map((_, index) => cell(language, index)));
    };
    const heads = [h("th", { scope: "col" }, say("language")), ...tokenizers.map((key, index) => h("th", { scope: "col", class: `n${tones[index]}` }, nameOf(key)))];
    const focused = languages.contains(document.activeElement) ? document.activeElement.textContent : null;
    languages.replaceChildren(...failures(costs.failed), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": say("Token counts by language") }, h("table", { class: "chart" }, h("caption", { class: "unseen" }, say("Tokens of the paragraph by language and tokenizer")), h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows.map(row)))));
    if (focused) [...languages.querySelectorAll("button")].find((button) => button.textContent === focused)?.focus();
    drawReading(all.find((language) => language.code === state.language));
  }

  function drawReading(language) {
    reading.hidden = !language;
    if (!language) return;
    const use = h("button", { type: "button", on: { click: () => { app.go({ example: language.text }); root.scrollIntoView({ block: "start" }); } } }, say("Compare its tokens above"));
    reading.replaceChildren(
      h("h3", {}, `${language.name} · `, h("span", { lang: language.code }, language.own_name)),
      h("p", { lang: language.code, dir: "auto" }, language.text),
      h("p", { class: "hint" }, [counted(language.chars, "character"), counted(language.bytes, "byte")].join(say(", "))),
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
    money.show(keys(state), nameOf);
    update(state);
    updateParagraph(state);
  }

  function exported() {
    const costsShown = [root.querySelector(".costs > h2"), languages];
    if (!shown) return costs ? { elements: costsShown, file: "compare", facts: costs.tokenizers.map(captionName) } : null;
    const [{ tokenizers, drawings, num_chars, compared_chars }, , text] = shown;
    const { special } = app.state;
    const sources = tokenizers.map(({ name }) => sourceOf(app, name));
    const isCallable = fits(text) && !sources.includes(null) && new Set(sources).size === sources.length;
    const load = (source, index) => `${python(captionName(tokenizers[index].name))}: jeton.load(${python(source)})`;
    return {
      elements: [...found.children, ...(costs ? costsShown : [])],
      file: "compare",
      facts: tokenizers.map(({ name, tokens }) => `${captionName(name)}: ${counted(tokens, "token")}`),
      ids: tokenizers.map(({ name }, index) => [captionName(name), drawings[index].ids]),
      data: () => ({ text, special, tokenizers: tokenizers.map(({ name, tokens }, index) => ({ tokenizer: captionName(name), num_tokens: tokens, tokens: tokensOf(drawings[index]) })) }),
      python: isCallable ? program(call("jeton.compare", [`{${sources.map(load).join(", ")}}`, python(text)], { special: special ? "all" : undefined })) : null,
      shell: isCallable ? command("jeton", "compare", ...sources.flatMap((source) => ["-t", source]), ...(special ? ["--special", "all"] : []), "--", text) : null,
      partial: compared_chars < num_chars ? Math.min(...drawings.map(({ ids }) => ids.length)) : undefined,
    };
  }

  return { show, hide() {}, exported };
}
