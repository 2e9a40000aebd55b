// Runs of Unigram to smaller and smaller vocabularies: which pieces each one drops, and the text in the pieces that are left.

import { direction } from "../../text_units.js";
import { chip } from "../../widgets.js";
import { h, number } from "../../dom.js";
import { counted, gap, say, sayNodes } from "../../language.js";
import { curve } from "./curve.js";

const DRAWN = 1_000; // tokens of the text drawn
const NAMED = 6; // dropped pieces in a sentence
const LISTED = 300; // pieces

/** As `merges` of `merges.js`. */
export function unigram(app, run, text) {
  const { runs, table } = run;
  const last = runs.length - 1;
  const headline = h("h2", { class: "headline" });
  const sentence = h("p", { class: "verdict" });
  const figures = h("dl", { class: "figures", "aria-label": say("The text at this step") });
  const dir = direction(text);
  const [before, after] = [h("div", { class: "pane", dir }), h("div", { class: "pane", dir })];
  const [beforeTitle, afterTitle] = [h("h3", {}, say("Before, with the pieces that are dropped marked")), h("h3")];
  const former = h("div", {}, beforeTitle, before);
  const pieces = h("ol", { class: "made tokens", "aria-label": say("Pieces") });
  const piecesTitle = h("h3");
  const values = runs.map(({ corpus_tokens }) => run.corpus_bytes / corpus_tokens);
  const plot = curve({
    title: say("Bytes per token"),
    values,
    ends: [number(runs[0].size), number(runs[last].size)],
    axis: say("entries of the vocabulary"),
    words: say("Bytes per token change from {first} to {last} while the vocabulary shrinks from {large} to {small}.", { first: values[0].toFixed(2), last: values[last].toFixed(2), large: counted(runs[0].size, "entry"), small: counted(runs[last].size, "entry") }),
  });
  const element = h(
    "div",
    { class: "run" },
    headline,
    sentence,
    figures,
    h("section", { class: "text" }, former, h("div", {}, afterTitle, after)),
    h("div", { class: "columns two" }, h("section", {}, piecesTitle, pieces), plot.element),
  );

  function go(at, quiet) {
    const [now, previous] = [runs[at], runs[at - 1]];
    const count = at ? say("Run {step} of {all}: {entries}", { step: number(at), all: number(last), entries: counted(now.size, "entry") }) : say("The largest vocabulary of this text: {entries}", { entries: counted(now.size, "entry") });
    headline.replaceChildren(h("span", { class: "count" }, count));
    sentence.replaceChildren(...(at ? dropped(now, previous) : [last ? say("Step forward, or press Play.") : say("The vocabulary size is not below that, so no piece is dropped.")]));
    const rows = [[say("tokens"), number(now.corpus_tokens)], [say("bytes per token"), values[at].toFixed(3)], [say("vocabulary"), number(now.size)]];
    figures.replaceChildren(...rows.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value))));
    former.hidden = !at;
    const gone = new Set(now.dropped.map(([piece]) => piece));
    before.replaceChildren(...(at ? [sequence(previous, (piece) => (gone.has(piece) ? "new" : ""), say("The text before this run"))] : []));
    afterTitle.textContent = at ? say("After") : say("The text in pieces");
    after.replaceChildren(sequence(now, () => "", say("The text after this run")));
    piecesTitle.textContent = say("{pieces} by score, the most probable first", { pieces: counted(now.pieces.length, "piece") });
    pieces.replaceChildren(...now.pieces.slice(0, LISTED).map(([piece, score]) => h("li", {}, chip(table[piece]), h("span", { class: "id" }, score.toFixed(2)))));
    plot.go(at);
    if (!quiet) app.say(`${count}${say(". ")}${sentence.textContent}`);
    return count;
  }

  function sequence({ tokens }, mark, label) {
    const shown = tokens.flat().slice(0, DRAWN);
    const looks = [...new Set(shown)];
    const places = new Map(looks.map((piece, index) => [piece, index]));
    const drawing = { ids: shown.map((piece) => table[piece].id), looks: shown.map((piece) => places.get(piece)), table: looks.map((piece) => table[piece]), groups: shown.map((_, index) => index), dropped: [] };
    return app.draw(drawing, { label, mark: (index) => [mark(shown[index]), shown[index].startsWith("▁") ? "begins" : ""].filter(Boolean).join(" ") });
  }

  return { element, last, go };
}

/** Which pieces a run drops, and what that costs. */
function dropped(now, former) {
  const cost = counted(now.corpus_tokens - former.corpus_tokens, "token");
  const code = (piece) => h("bdi", {}, h("code", {}, piece));
  const words = [];
  if (now.dropped.length === 1) {
    const [[piece, score]] = now.dropped;
    const lowest = Math.min(...former.pieces.filter(([other]) => [...other].length > 1).map(([, value]) => value));
    words.push(...(score <= lowest
      ? sayNodes("{piece} is dropped: of the pieces of more than one character it has the lowest score, {score}.", { piece: code(piece), score: score.toFixed(2) })
      : sayNodes("{piece}, with score {score}, is dropped.", { piece: code(piece), score: score.toFixed(2) })));
  } else if (now.dropped.length) {
    const names = now.dropped.slice(0, NAMED).flatMap(([piece], index) => (index ? [" ", code(piece)] : [code(piece)]));
    const list = h("span", {}, ...names, ...(now.dropped.length > NAMED ? [" …"] : []));
    words.push(...sayNodes("{pieces} dropped, those of the lowest scores first: {list}.", { pieces: counted(now.dropped.length, "piece"), list }));
  } else words.push(say("No piece is dropped."));
  if (now.added.length) words.push(gap(), say("New in this run: {pieces}.", { pieces: counted(now.added.length, "piece") }));
  if (now.corpus_tokens > former.corpus_tokens) words.push(gap(), say("The text needs {tokens} more.", { tokens: cost }));
  else if (now.corpus_tokens === former.corpus_tokens) words.push(gap(), say("The text needs no more tokens."));
  else words.push(gap(), say("The text needs {tokens} fewer.", { tokens: counted(former.corpus_tokens - now.corpus_tokens, "token") }));
  words.push(gap(), say("Single characters are never dropped."));
  return words;
}
