// Train view: a training run on the text, step by step. The server computes the run.
//
// The response is linear in the text: the initial symbols, and for each boundary between two of them the rank of the
// merge that removed it. Any step can therefore be drawn directly. Unigram is a sequence of runs.

import { call, fits, program, python } from "../exports/calls.js";
import { textOf } from "../textbox.js";
import { choice, examples } from "../widgets.js";
import { failure, h, number } from "../dom.js";
import { counted, message, say } from "../language.js";
import { merges } from "./train/merges.js";
import { introduction } from "./train/reasons.js";
import { unigram } from "./train/unigram.js";

const WORDS = "old older fast faster fastest best better yes desk mess";
const TEN_WORDS = { example: WORDS, algorithm: undefined, size: 270, pattern: "none", ties: "first" };
const EXAMPLES = [
  [message("ten words"), TEN_WORDS],
  ["abcababcaabc", { example: "abcababcaabc", algorithm: undefined, size: 260, pattern: "none", ties: "first" }],
  ["aaabdaaabac", { example: "aaabdaaabac", algorithm: undefined, size: 259, pattern: "none", ties: "lowest_ids" }],
  [message("words with counts"), { example: "low low low low low lower lower newest newest newest newest newest newest widest widest widest", algorithm: "words", size: 21, pattern: undefined, ties: "first" }],
  [message("Chinese"), { example: "今天的天气很好，明天的天气不好。", algorithm: undefined, size: 268, pattern: "o200k", ties: "first" }],
];
const ALGORITHMS = [
  ["bpe", message("BPE on text")],
  ["words", message("BPE on words, with </w>")],
  ["wordpiece", message("WordPiece")],
  ["sentencepiece", message("SentencePiece BPE")],
  ["unigram", message("Unigram")],
];
const TIES = [
  ["lowest_ids", message("lowest ids")],
  ["first", message("first in the text")],
  ["highest_pair", message("last in byte order")],
  ["shortest", message("shortest token")],
];
const LEVELS = [["byte", message("bytes")], ["char", message("characters")]];
const SPEEDS = [["2000", message("slow")], ["900", message("steady")], ["300", message("fast")], ["80", message("very fast")]];
// Presets of the API's training (playground/api/train.py), and their options for short texts
const PRESETS = {
  wordpiece: ["Bert", "min_frequency=1, limit_alphabet=None"],
  sentencepiece: ["SentencePiece", "character_coverage=1.0, hard_vocab_limit=False"],
  unigram: ["SentencePieceUnigram", "character_coverage=1.0, hard_vocab_limit=False, bug_compatible=False"],
};
const translated = (choices) => choices.map(([value, words]) => [value, say(words)]);
const patternOf = (level) => (level === "char" ? "none" : "o200k"); // unless another one is chosen
const sizeOf = ({ size, algorithm = "bpe" }) => size ?? (algorithm === "bpe" ? 276 : undefined);

export function mount(root, app) {
  const ask = app.latest();
  const box = app.textBox({ label: say("Text to train on"), rows: 2 });
  const change = (changes) => app.set({ ...changes, step: undefined });
  const algorithm = choice(say("Algorithm"), translated(ALGORITHMS), (value) => change({ algorithm: value === "bpe" ? undefined : value, size: undefined, pattern: undefined }));
  const size = h("input", { type: "number", min: 1, max: 10_500, step: 1, placeholder: say("automatic"), on: { change: () => change({ size: Number(size.value) || undefined }) } });
  const pattern = h("input", { type: "text", list: "train-patterns", spellcheck: "false", autocomplete: "off", on: { change: () => change({ pattern: pattern.value.trim() || undefined }) } });
  const patterns = h("datalist", { id: "train-patterns" });
  const patternField = h("label", { class: "field" }, h("span", {}, say("Pattern")), pattern);
  const unsplit = h("p", { class: "hint unsplit" }, say("No pattern: merges may cross spaces."));
  const ties = choice(say("Break ties by"), translated(TIES), (value) => change({ ties: value }));
  const level = choice(say("Initial symbols"), translated(LEVELS), (value) => change({ level: value, pattern: undefined }));
  const row = examples(app, Object.fromEntries(EXAMPLES.map(([name, changes]) => [say(name), changes])), { level: undefined, step: undefined });
  row.addEventListener("click", stop);

  const slider = h("input", { type: "range", min: 0, value: 0, "aria-label": say("Step"), on: { input: () => { stop(); go(Number(slider.value)); } } });
  const play = h("button", { type: "button", class: "play", on: { click: toggle } }, say("Play"));
  const move = (label, sign, to) => h("button", { type: "button", "aria-label": label, title: label, on: { click: () => { stop(); go(to()); } } }, sign);
  const restart = () => { if (timer) { stop(); toggle(); } };
  const speed = h("select", { "aria-label": say("Speed"), title: say("Speed"), on: { change: restart } }, ...translated(SPEEDS).map(([value, words]) => h("option", { value }, words)));
  speed.value = matchMedia("(prefers-reduced-motion: reduce)").matches ? "2000" : "900";
  const player = h(
    "div",
    { class: "player", role: "group", "aria-label": say("Steps of the run") },
    move(say("First step"), "|◀\ufe0e", () => 0),
    move(say("Step back"), "◀\ufe0e", () => at - 1),
    play,
    move(say("Step forward"), "▶\ufe0e", () => at + 1),
    move(say("Last step"), "▶\ufe0e|", () => run.last),
    speed,
    slider,
  );
  player.addEventListener("keydown", onKey);
  const told = h("p", { class: "introduction" });
  const holder = h("div");
  const stage = h("div", { class: "stage", hidden: true }, told, player, holder);
  const notice = h("div", { class: "message" });
  root.append(
    box,
    row,
    h("div", { class: "options" }, algorithm, h("label", { class: "field" }, h("span", {}, say("Vocabulary size")), size), ties, level, patternField, unsplit, patterns),
    notice,
    stage,
  );

  let run = null; // {element, last, go}
  let found = null; // the response of it
  let at = 0;
  let timer = 0;
  let asked = "";
  let drawn = null; // [run, at] of the last drawing
  let isFresh = true; // the view has not been shown yet

  // ── requests ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async function update(state) {
    const question = { text: textOf(state), algorithm: state.algorithm ?? "bpe" };
    const vocab_size = sizeOf(state);
    if (vocab_size !== undefined) question.vocab_size = vocab_size;
    if (["bpe", "words"].includes(question.algorithm)) question.tie_break = state.ties ?? "lowest_ids";
    if (question.algorithm === "bpe") Object.assign(question, { level: state.level ?? "byte" }, state.pattern ? { pattern: state.pattern } : {});
    const key = JSON.stringify(question);
    if (key === asked) return walk(state);
    asked = key;
    stop();
    if (!question.text) return place(null, h("p", { class: "hint" }, say("Write or paste a few lines, or choose an example.")));
    root.setAttribute("aria-busy", "true");
    try {
      const answer = await ask("train", question);
      if (answer === null) return;
      answer.level = question.level;
      place(answer);
      walk(app.state);
    } catch (error) {
      place(null, failure(error));
    }
    root.removeAttribute("aria-busy");
  }

  function place(answer, words = null) {
    found = answer;
    drawn = null;
    notice.replaceChildren(...(words ? [words] : []));
    stage.hidden = !found;
    run = null;
    if (!found) return;
    run = found.algorithm === "unigram" ? unigram(app, found, textOf(app.state)) : merges(app, found, textOf(app.state), (step) => { stop(); go(step); });
    holder.replaceChildren(run.element);
    told.textContent = introduction(found.algorithm);
    slider.max = run.last;
    patterns.replaceChildren(...found.patterns.map((name) => h("option", { value: name })));
  }

  // ── steps ──────────────────────────────────────────────────────────────────────────────────────────────────────

  function walk(state) {
    if (!run) return;
    at = Math.min(Math.max(Number.isInteger(state.step) ? state.step : 0, 0), run.last);
    if (drawn && drawn[0] === run && drawn[1] === at) return;
    drawn = [run, at];
    slider.value = at;
    slider.setAttribute("aria-valuetext", run.go(at, Boolean(timer)));
  }

  function go(to) {
    if (run) app.set({ step: Math.min(Math.max(to, 0), run.last) });
  }

  function toggle() {
    if (timer) return stop();
    if (at === run.last) go(0);
    play.textContent = say("Pause");
    timer = setInterval(() => {
      if (at === run.last) stop();
      else go(at + 1);
    }, Number(speed.value));
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = say("Play");
  }

  function onKey(event) {
    if (event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey || !run) return;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: run.last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    stop();
    go(to);
  }

  function exported() {
    if (!run) return null;
    const { text, algorithm: kind, ...options } = JSON.parse(asked);
    const size = found.runs ? found.runs[at].size : found.vocab_size;
    const all = found.runs ?? found.steps;
    const wordsFor = (choices, wanted) => say(choices.find(([value]) => value === wanted)[1]);
    const now = found.runs ? null : found.alphabet_size + found.num_special + at;
    const entries = now === null || now === size ? counted(size, "entry") : say("{now} of {all} entries", { now: number(now), all: number(size) });
    const settings = [];
    if (options.tie_break) settings.push(say("ties: {rule}", { rule: wordsFor(TIES, options.tie_break) }));
    if (options.level) settings.push(say("pattern: {pattern}", { pattern: options.pattern ?? patternOf(options.level) }), say("initial symbols: {symbols}", { symbols: wordsFor(LEVELS, options.level) }));
    return {
      elements: [told, holder],
      file: "train",
      facts: [wordsFor(ALGORITHMS, kind), entries, say("step {step} of {all}", { step: at, all: run.last }), ...settings],
      data: () => ({ text, algorithm: kind, ...options, vocab_size: size, [found.runs ? "runs" : "steps"]: all }),
      python: fits(text) ? trainingProgram(text, kind, size, options) : null,
      shell: null,
    };
  }

  return {
    show(state) {
      if (isFresh) {
        isFresh = false;
        if (state.example === undefined && (!state.text || state.text === app.sample)) return app.set(TEN_WORDS);
      }
      const kind = state.algorithm ?? "bpe";
      box.show(state);
      row.show(state);
      algorithm.select.value = kind;
      size.value = sizeOf(state) ?? "";
      ties.select.value = state.ties ?? "lowest_ids";
      level.select.value = state.level ?? "byte";
      pattern.value = state.pattern ?? patternOf(state.level);
      ties.hidden = kind !== "bpe" && kind !== "words";
      level.hidden = patternField.hidden = kind !== "bpe";
      unsplit.hidden = kind !== "bpe" || pattern.value !== "none";
      update(state);
    },
    hide: stop,
    exported,
  };
}

/** The training run in Python. */
function trainingProgram(text, kind, size, { tie_break, level, pattern }) {
  const [preset, settings] = PRESETS[kind] ?? [];
  const corpus = `corpus = ${python(preset ? text.split("\n") : [text])}`;
  if (preset) return program(`from jeton.training.presets import ${preset}`, "", corpus, `tok = jeton.train(corpus, ${size}, preset=${preset}(${settings}))`);
  if (kind === "words") return program(corpus, `tok = ${call("jeton.train", ["corpus", size], { end_of_word: "</w>", tie_break })}`);
  return program(corpus, `tok = ${call("jeton.train", ["corpus", size], { level, pattern: pattern ?? patternOf(level), tie_break })}`, "print(jeton.replay(tok, corpus))");
}
