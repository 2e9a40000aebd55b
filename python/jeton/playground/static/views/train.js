// Train view: a training run on the text, step by step. The server computes the run.
//
// The response is linear in the text: the initial symbols, and for each boundary between two of them the rank of the
// merge that removed it. Any step can therefore be drawn directly.

import { direction } from "../text_units.js";
import { textOf } from "../textbox.js";
import { bar, chip, chips, choice, examples } from "../widgets.js";
import { failure, h, number, svg } from "../dom.js";
import { counted } from "../language.js";
import { shownText } from "../draw.js";

const EXAMPLES = {
  "abcababcaabc": { example: "abcababcaabc", size: 260, pattern: "none", ties: "first" },
  "ten words": { example: "old older fast faster fastest best better yes desk mess", size: 270, pattern: "none", ties: "first" },
  "aaabdaaabac": { example: "aaabdaaabac", size: 259, pattern: "none", ties: "lowest_ids" },
  "Chinese": { example: "今天的天气很好，明天的天气不好。", size: 268, pattern: "o200k", ties: "first" },
};
const TIES = [
  ["lowest_ids", "lowest_ids: lowest ids"],
  ["first", "first: first occurrence"],
  ["highest_pair", "highest_pair: larger spelling"],
  ["shortest", "shortest: shortest result"],
];
const LEVELS = [["byte", "bytes"], ["char", "characters"]];
const SPEEDS = [["2000", "slow"], ["900", "steady"], ["300", "fast"], ["80", "very fast"]];
const DRAWN = 1_000; // tokens of the text drawn at a step
const LISTED = 400; // new tokens listed

export function mount(root, app) {
  const ask = app.latest();
  const box = app.textBox({ label: "Text to train on", rows: 3 });
  const size = h("input", { type: "number", min: 1, max: 10_500, step: 1, on: { change: () => app.set({ size: Number(size.value) || undefined, step: undefined }) } });
  const pattern = h("input", { type: "text", list: "train-patterns", spellcheck: "false", autocomplete: "off", on: { change: () => app.set({ pattern: pattern.value.trim() || undefined, step: undefined }) } });
  const patterns = h("datalist", { id: "train-patterns" });
  const ties = choice("Break ties by", TIES, (value) => app.set({ ties: value, step: undefined }));
  const level = choice("Initial symbols", LEVELS, (value) => app.set({ level: value, pattern: undefined, step: undefined }));
  const row = examples(app, EXAMPLES, { level: undefined, step: undefined });
  row.addEventListener("click", stop);

  const slider = h("input", { type: "range", min: 0, value: 0, "aria-label": "Step", on: { input: () => go(Number(slider.value)) } });
  const play = h("button", { type: "button", class: "play", on: { click: toggle } }, "Play");
  const move = (label, sign, to) => h("button", { type: "button", "aria-label": label, title: label, on: { click: () => { stop(); go(to()); } } }, sign);
  const speed = choice("Speed", SPEEDS, () => { if (timer) { stop(); toggle(); } });
  speed.select.value = matchMedia("(prefers-reduced-motion: reduce)").matches ? "2000" : "900";
  const player = h(
    "div",
    { class: "player", role: "group", "aria-label": "Steps of the run" },
    move("Beginning", "⏮\ufe0e", () => 0),
    move("Step back", "◀\ufe0e", () => at - 1),
    play,
    move("Step forwards", "▶\ufe0e", () => at + 1),
    move("End", "⏭\ufe0e", () => run.steps.length),
    slider,
    speed,
  );
  player.addEventListener("keydown", onKey);
  const headline = h("h2", { class: "headline" });
  const figures = h("dl", { class: "figures", "aria-label": "The text at this step" });
  const before = h("div", { class: "pane" });
  const after = h("div", { class: "pane" });
  const beforeTitle = h("h3");
  const afterTitle = h("h3");
  const bars = h("table", { class: "bars" });
  const barsTitle = h("h3");
  const made = h("ol", { class: "made", "aria-label": "New tokens" });
  const madeTitle = h("h3");
  const curve = h("figure", { class: "curve" });
  const stage = h(
    "div",
    { class: "stage", hidden: true },
    player,
    headline,
    figures,
    h("section", { class: "text" }, beforeTitle, before, afterTitle, after),
    h("div", { class: "columns" }, h("section", {}, barsTitle, bars), h("section", {}, madeTitle, made), curve),
  );
  const message = h("div", { class: "message" });
  root.append(
    box,
    row,
    h("div", { class: "options" }, h("label", { class: "field" }, h("span", {}, "Vocabulary size"), size), ties, level, h("label", { class: "field" }, h("span", {}, "Pattern"), pattern), patterns),
    message,
    stage,
  );

  let run = null;
  let at = 0; // merges applied
  let timer = 0;
  let asked = "";
  let drawn = null; // [run, at] of the last drawing

  // ── requests ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async function update(state) {
    const question = { text: textOf(state), vocab_size: state.size ?? 276, tie_break: state.ties ?? "lowest_ids", level: state.level ?? "byte" };
    if (state.pattern) question.pattern = state.pattern;
    const key = JSON.stringify(question);
    if (key === asked) return walk(state);
    asked = key;
    stop();
    if (!question.text) return say(null, h("p", { class: "hint" }, "Write or paste a few lines, or choose an example. Each step of BPE training merges the most frequent pair of adjacent symbols."));
    root.setAttribute("aria-busy", "true");
    try {
      const found = await ask("train", question);
      if (found === null) return;
      say(found);
      walk(app.state);
    } catch (error) {
      say(null, failure(error));
    }
    root.removeAttribute("aria-busy");
  }

  function say(found, words = null) {
    run = found;
    drawn = null;
    message.replaceChildren(...(words ? [words] : []));
    stage.hidden = !run;
    if (!run) return;
    slider.max = run.steps.length;
    patterns.replaceChildren(...run.patterns.map((name) => h("option", { value: name })));
    drawCurve();
  }

  // ── steps ──────────────────────────────────────────────────────────────────────────────────────────────────────

  function walk(state) {
    if (!run) return;
    at = Math.min(Math.max(Number.isInteger(state.step) ? state.step : 0, 0), run.steps.length);
    if (drawn && drawn[0] === run && drawn[1] === at) return;
    drawn = [run, at];
    before.dir = after.dir = direction(textOf(state)); // at every step, also while letters are split into bytes
    draw();
  }

  function go(to) {
    if (run) app.set({ step: Math.min(Math.max(to, 0), run.steps.length) });
  }

  function toggle() {
    if (timer) return stop();
    if (at === run.steps.length) go(0);
    play.textContent = "Pause";
    timer = setInterval(() => {
      if (at === run.steps.length) stop();
      else go(at + 1);
    }, Number(speed.select.value));
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  }

  function onKey(event) {
    if (event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: run.steps.length }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    stop();
    go(to);
  }

  // ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────

  const look = (id) => run.table[String(id)];
  const name = (id) => shownText(look(id).parts);

  function draw() {
    const step = at ? run.steps[at - 1] : null;
    const last = run.steps.length;
    slider.value = at;
    slider.setAttribute("aria-valuetext", step ? `step ${at} of ${last}: ${name(step.left)} and ${name(step.right)} merged` : `before the first of ${last} merges`);
    if (step) {
      headline.replaceChildren(
        h("span", { class: "count" }, `Merge ${number(at)} of ${number(last)}`),
        h("span", { class: "tokens" }, chip(look(step.left)), h("span", { class: "sign" }, " + "), chip(look(step.right)), h("span", { class: "sign" }, " → "), chip(look(step.id))),
        h("span", { class: "note" }, `id ${step.id}, ${number(step.pair_count)} times in the text`),
      );
    } else headline.replaceChildren(h("span", { class: "count" }, last ? `Before the first of ${counted(last, "merge")}` : "No merges: no pair left, or the vocabulary is full"));
    const tokens = step ? step.corpus_tokens : run.corpus_tokens;
    const rows = [["tokens", number(tokens)], ["bytes per token", (run.corpus_bytes / tokens).toFixed(3)], ["vocabulary", number(run.alphabet_size + at)]];
    if (run.stopped && at === last) rows.push(["stopped", run.stopped]);
    figures.replaceChildren(...rows.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value))));

    beforeTitle.textContent = step ? "Before, with the pair marked" : "The text as initial symbols";
    before.replaceChildren(sequence(step ? at - 1 : 0, "pair", "The text before this merge"));
    afterTitle.hidden = after.hidden = !step;
    if (step) {
      afterTitle.textContent = "After";
      after.replaceChildren(sequence(at, "new", "The text after this merge"));
    } else after.replaceChildren();
    drawBars();
    drawMade();
    dot?.();
    if (!timer) app.say(step ? `Merge ${at} of ${last}: ${name(step.left)} and ${name(step.right)} become ${name(step.id)}, ${counted(step.pair_count, "time")}` : headline.textContent);
  }

  /** Draws the text after some merges, with the pair or the result of this step's merge marked. */
  function sequence(merges, marking, label) {
    const wanted = at - 1; // rank of this step's merge
    const ids = [];
    const classes = [];
    let first = null; // the first marked token
    for (const { ids: symbols, joined } of run.sequences) {
      let top = -1; // highest rank inside the token
      let begins = true;
      let right = false;
      symbols.forEach((id, index) => {
        const rank = joined[index] ?? null;
        if (rank !== null && rank < merges) {
          top = Math.max(top, rank);
          return;
        }
        const left = rank === wanted;
        const marked = marking === "pair" ? left || right : top === wanted;
        if (marked) first ??= ids.length;
        ids.push(top < 0 ? id : run.steps[top].id);
        classes.push([begins ? "begins" : "", marked && wanted >= 0 ? (marking === "new" ? "new" : left ? "left" : "right") : ""].filter(Boolean).join(" "));
        [top, begins, right] = [-1, false, marking === "pair" && left];
      });
    }
    const from = first !== null && first >= DRAWN - 50 ? first - 50 : 0;
    const drawing = drawingOf(ids.slice(from, from + DRAWN));
    const element = app.draw(drawing, { label, mark: (index) => classes[from + index] });
    if (ids.length <= DRAWN) return element;
    const note = h("p", { class: "hint" }, `Tokens ${number(from + 1)} to ${number(Math.min(from + DRAWN, ids.length))} of ${number(ids.length)} are drawn.`);
    return h("div", {}, element, note);
  }

  /** Converts ids to a drawing, with each token's look in isolation. */
  function drawingOf(ids) {
    const table = [];
    const places = new Map();
    const looks = ids.map((id) => {
      if (!places.has(id)) places.set(id, table.push(look(id)) - 1);
      return places.get(id);
    });
    return { ids, looks, table, groups: ids.map((_, index) => index), dropped: [] };
  }

  function drawBars() {
    const step = run.steps[Math.max(at - 1, 0)];
    barsTitle.textContent = at ? "Most frequent pairs before this merge" : "Most frequent pairs";
    if (!step) return bars.replaceChildren();
    const [longest] = step.pairs.map(([, , times]) => times);
    const row = ([left, right, times]) => {
      const chosen = left === step.left && right === step.right;
      return h(
        "tr",
        { class: chosen ? "chosen" : null },
        h("th", { scope: "row" }, h("span", { class: "unseen" }, `${name(left)} and ${name(right)}${chosen && at ? ", merged" : ""}`), h("span", { "aria-hidden": "true" }, chips([look(left), look(right)], " "))),
        h("td", { class: "space" }, bar(times / longest, chosen ? "chosen" : "")),
        h("td", { class: "figure" }, number(times)),
      );
    };
    const head = h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "pair"), h("th", { scope: "col", colspan: 2 }, "times")));
    const rest = step.num_pairs - step.pairs.length;
    const foot = rest > 0 ? [h("tfoot", {}, h("tr", {}, h("td", { colspan: 3 }, `and ${counted(rest, "other pair")}`)))] : [];
    bars.replaceChildren(head, h("tbody", {}, ...step.pairs.map(row)), ...foot);
  }

  function drawMade() {
    madeTitle.textContent = `The vocabulary: ${number(run.alphabet_size)} ${(app.state.level ?? "byte") === "byte" ? "bytes" : "characters"} and ${counted(at, "new token")}`;
    const from = Math.max(at - LISTED, 0);
    const items = run.steps.slice(from, at).map(({ id }, index) => {
      const press = { click: () => { stop(); go(from + index + 1); } };
      const button = h("button", { type: "button", "aria-label": `${name(id)}, id ${id}: go to its merge`, on: press }, chip(look(id)), h("span", { class: "id" }, String(id)));
      return h("li", { class: from + index + 1 === at ? "latest" : null }, button);
    });
    made.classList.add("tokens");
    made.start = from + 1;
    const hadFocus = made.contains(document.activeElement);
    made.replaceChildren(...items.reverse());
    if (hadFocus) made.querySelector(".latest button")?.focus();
  }

  // ── the curve ────────────────────────────────────────────────────────────────────────────────────────────────────

  let dot = null;

  function drawCurve() {
    const values = [run.corpus_bytes / run.corpus_tokens, ...run.steps.map((step) => step.bytes_per_token)];
    const [width, height, edge] = [320, 150, 8];
    const top = Math.max(...values) * 1.05;
    const x = (step) => edge + ((width - 2 * edge) * step) / Math.max(values.length - 1, 1);
    const y = (value) => height - edge - ((height - 2 * edge) * value) / top;
    const line = values.map((value, step) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    const mark = svg("circle", { r: 4.5, class: "dot" });
    const words = `Bytes per token rise from ${values[0].toFixed(2)} to ${values.at(-1).toFixed(2)} in ${counted(run.steps.length, "merge")}.`;
    const picture = svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words },
      svg("line", { class: "axis", x1: edge, y1: height - edge, x2: width - edge, y2: height - edge }),
      svg("polyline", { points: line, class: "line" }),
      mark,
    );
    curve.replaceChildren(h("h3", {}, "Bytes per token"), picture, h("figcaption", {}, words));
    dot = () => {
      mark.setAttribute("cx", x(at));
      mark.setAttribute("cy", y(values[at]));
    };
  }

  return {
    show(state) {
      box.show(state);
      row.show(state);
      size.value = state.size ?? 276;
      ties.select.value = state.ties ?? "lowest_ids";
      level.select.value = state.level ?? "byte";
      pattern.value = state.pattern ?? ((state.level ?? "byte") === "byte" ? "o200k" : "none");
      update(state);
    },
    hide: stop,
  };
}
