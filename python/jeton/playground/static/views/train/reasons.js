// Sentences of the Train view: what an algorithm does, and why a pair merges at a step, with ties in words.

import { h, number } from "../../dom.js";
import { counted, gap, message, say, sayNodes } from "../../language.js";

const INTRODUCTIONS = {
  bpe: message("Each step merges the most frequent pair of neighboring symbols into a new token. The steps are numbered: a merge number tells when a merge was learned, and 1 is the first."),
  words: message("Words are counted first, each with an end mark, </w>. Each step merges the most frequent pair inside of the words. The steps are numbered: a merge number tells when a merge was learned, and 1 is the first."),
  wordpiece: message("Words are counted first; a symbol inside of a word begins with ##. Each step merges the most frequent pair, as Hugging Face's trainer does. The tokenizer keeps the entries and not the merges: it takes the longest entry that matches."),
  sentencepiece: message("Words are counted first, with ▁ for the space before each. Each step merges the most frequent pair, as SentencePiece's BPE trainer does. The steps are numbered: a merge number tells when a merge was learned, and 1 is the first."),
  unigram: message("Unigram does not merge. It starts with many pieces and drops those that it needs least. Each step here is a training run of its own, to a smaller vocabulary."),
};

// Tie rule → which of several pairs with equal counts merges.
const TIE_RULES = {
  lowest_ids: message("Of equal pairs, the one with the lowest ids merges, here {left} and {right}."),
  first: message("Of equal pairs, the one that comes first in the text merges."),
  highest_pair: message("Of equal pairs, the one whose spelling is last in byte order merges; left symbols are compared first."),
  shortest: message("Of equal pairs, the one that makes the shortest token merges; of equally short ones, the first in byte order."),
};

/** What an algorithm does, in sentences. */
export const introduction = (algorithm) => say(INTRODUCTIONS[algorithm]);

/**
 * Why a pair merges, as nodes.
 *
 * @param {Object} run  the response
 * @param {Object} step  a step of it
 * @param {(id: number) => string} name  display form of a token
 */
export function reason(run, step, name) {
  const pair = (left, right) => h("bdi", { class: "pair" }, h("code", {}, name(left)), " + ", h("code", {}, name(right)));
  const own = pair(step.left, step.right);
  const times = step.pair_count === 1 ? say("once") : counted(step.pair_count, "time");
  const others = step.pairs.filter(([left, right, count]) => count === step.pair_count && (left !== step.left || right !== step.right));
  const isCut = step.pairs.length < step.num_pairs && step.pairs.at(-1)?.[2] === step.pair_count; // there may be more of them
  const at = step.pairs.findIndex(([left, right]) => left === step.left && right === step.right);
  const isPassed = step.pairs[0]?.[2] > step.pair_count; // by pairs that may not merge
  const highest = isPassed ? say("the highest count of the pairs that may merge") : say("the highest count");
  const most = isPassed ? say("no pair that may merge occurs more often") : say("no pair occurs more often");
  const words = [];
  if (step.pair_count === 0) words.push(...sayNodes("{pair} merges, although it is not in this text.", { pair: own }));
  else if (step.num_pairs === 1) words.push(...sayNodes("{pair} merges: it is the only pair left. It occurs {times}.", { pair: own, times }));
  else if (!others.length) words.push(...sayNodes("{pair} merges: it occurs {times}, {highest}.", { pair: own, times, highest }));
  else {
    const values = { pair: own, other: pair(others[0][0], others[0][1]), others: counted(others.length, "other pair"), number: number(others.length), times, most };
    if (isCut) words.push(...sayNodes("{pair} merges: it and {number} or more other pairs occur {times} each, and {most}.", values));
    else if (others.length === 1) words.push(...sayNodes("{pair} merges: it and {other} both occur {times}, and {most}.", values));
    else words.push(...sayNodes("{pair} merges: it and {others} occur {times} each, and {most}.", values));
    const rule = TIE_RULES[run.tie_break];
    if (rule) words.push(gap(), say(rule, { left: step.left, right: step.right }));
  }
  if (step.merged < step.pair_count) {
    const run_of_three = h("code", {}, name(step.left).repeat(3));
    words.push(gap(), ...sayNodes("Occurrences overlap, as in {example}, so {merged} of the {count} merge, from left to right.", { example: run_of_three, merged: number(step.merged), count: number(step.pair_count) }));
  }
  if (run.algorithm === "sentencepiece" && at > 0) {
    const [left, right] = step.pairs[0];
    words.push(gap(), ...sayNodes("{pair} would come before it, but may not merge: a piece is of one script, and digits do not join letters.", { pair: pair(left, right) }));
  }
  return words;
}
